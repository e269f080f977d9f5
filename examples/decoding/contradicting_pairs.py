"""
What coupling does to three pairs that contradict each other
============================================================

Three classes, three pairs. The machines say: A beats B with probability r, B beats C with r, and C
beats A with 1 - r. At r = 1/2 all is open. The larger r is, the more the third answer contradicts
the first two or agrees with them. A point of a triangle is a distribution over three classes.
"""

import matplotlib.pyplot as plt
import numpy as np

from polychotomy import PairwiseCoupling

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]])


def triangle(ax, title):
    """Draw an empty triangle of distributions."""
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="grey", lw=1)
    for name, corner, side in zip("ABC", CORNERS, [(-1, -1), (1, -1), (0, 1)], strict=True):
        place = {"textcoords": "offset points", "ha": "center", "va": "center"}
        ax.annotate(name, corner, 10 * np.array(side), **place)
    ax.set_title(title, pad=14)
    ax.set_aspect("equal")
    ax.axis("off")


# The columns are the pairs AB, AC and BC; an entry is the probability of the first of the two.
steps = np.linspace(0.02, 0.98, 97)
cases = {
    "C beats A with 1 - r: no contradiction": np.c_[steps, steps, steps],
    "C beats A with r: a circle": np.c_[steps, 1 - steps, steps],
    "A beats B with r, the others say 0.9": np.c_[steps, np.full(97, 0.9), np.full(97, 0.1)],
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, (title, r) in zip(axes, cases.items(), strict=True):
    triangle(ax, title)
    for variant, style in (("wu_lin_weng", "-"), ("hastie_tibshirani", "--"), ("markov", ":")):
        path = PairwiseCoupling(variant).decode(r) @ CORNERS
        ax.plot(*path.T, style, lw=2.5, label=variant.replace("_", "-"))
        ax.plot(*path[[0, -1]].T, "o", color="black", ms=3)
axes[0].legend(loc="upper left", fontsize=8)
plt.show()

# %%
# Where the answers agree, all three couplings agree nearly. In a circle, where every class beats
# one and loses to one, all give 1/3 each, whatever r is: the path is one point. On the right, A and
# B exchange the lead while C stays in the middle; here the couplings differ.
