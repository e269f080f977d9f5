"""Decoders: from the answers of binary machines to classes and class probabilities.

The papers' names of the decoders:

==================  =====================================================  ==================
name in the papers  decoder                                                code
==================  =====================================================  ==================
VOTE, MWV           `MaxWins`                                              one-vs-one
WV                  `WeightedVoting`                                       one-vs-one
PC, PWC             `PairwiseCoupling("hastie_tibshirani")`                one-vs-one
PE                  `PairwiseCoupling("wu_lin_weng")`                      one-vs-one
DDAG                `DecisionGraph`                                        one-vs-one
LVPC                `ValuedPreference`                                     one-vs-one
ND                  `NonDominance`                                         one-vs-one
BTC                 `BinaryTree`                                           one-vs-one
NEST                `Nesting`                                              one-vs-one
SMC1v1, SMC1va      `SoftMax`                                              one-vs-one, -rest
SSMC1v1, SSMC1va    `SoftMax(C=None)`                                      one-vs-one, -rest
WTA, MAX            `WinnerTakesAll`                                       one-vs-rest
DOO                 `DynamicallyOrdered`                                   one-vs-rest
Hamming             `HammingDecoding`                                      any
loss function       `LossDecoding`                                         any
Bayesian            `BayesianDecoding`                                     any
(Zadrozny 2001)     `CodeCoupling`                                         any
(Frank, Kramer)     `BranchProduct`                                        nested
(our own)           `ShrunkSoftMax`                                        one-vs-one, -rest
==================  =====================================================  ==================
"""

from ..core.registry import parts
from .base import Context, Decoder
from .bayesian import BayesianDecoding
from .branch_product import BranchProduct
from .code_coupling import CodeCoupling
from .coupling import PairwiseCoupling
from .decision_graph import DecisionGraph
from .hamming import HammingDecoding
from .loss import LossDecoding
from .max_wins import MaxWins
from .nesting import Nesting
from .non_dominance import NonDominance
from .ordered import DynamicallyOrdered
from .shrunk_softmax import ShrunkSoftMax
from .softmax import SoftMax
from .tree import BinaryTree
from .valued_preference import ValuedPreference
from .weighted_voting import WeightedVoting
from .winner import WinnerTakesAll

DECODERS = parts("decoder")

__all__ = [
    "DECODERS",
    "BayesianDecoding",
    "BinaryTree",
    "BranchProduct",
    "CodeCoupling",
    "Context",
    "DecisionGraph",
    "Decoder",
    "DynamicallyOrdered",
    "HammingDecoding",
    "LossDecoding",
    "MaxWins",
    "Nesting",
    "NonDominance",
    "PairwiseCoupling",
    "ShrunkSoftMax",
    "SoftMax",
    "ValuedPreference",
    "WeightedVoting",
    "WinnerTakesAll",
]
