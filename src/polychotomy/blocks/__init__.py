"""Rows that do not fit into memory: sources that are read block by block, as often as needed."""

from .block import Block
from .source import RowBlocks

__all__ = ["Block", "RowBlocks"]
