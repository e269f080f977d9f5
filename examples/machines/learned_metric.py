"""
A learned metric ignores what does not matter
=============================================

Wine, with twenty columns of noise beside its thirteen measurements. `LearnedMetric` finds a
weight for every input from the slopes of LS-SVMs. The noise gets small weights.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import LearnedMetric, MetricClassifier, ProbabilisticSVC
from polychotomy.plots import FeatureWeightsDisplay

wine = load_wine(as_frame=True)
noise = np.random.default_rng(0).normal(size=(len(wine.data), 20))
X = wine.data.assign(**{f"noise {k}": noise[:, k] for k in range(20)})
X_train, X_test, y_train, y_test = train_test_split(
    X, wine.target, stratify=wine.target, random_state=0
)
metric = LearnedMetric().fit(X_train, y_train)
display = FeatureWeightsDisplay.from_estimator(metric, most=20)
for bar, label in zip(display.ax_.patches, display.ax_.get_yticklabels(), strict=True):
    if label.get_text().startswith("noise"):
        bar.set_color("#94a4a2")
display.ax_.set_title("measurements (blue) and noise (grey)")
plt.show()

# %%
for name, clf in {
    "all inputs alike": make_pipeline(StandardScaler(), ProbabilisticSVC()),
    "learned metric": MetricClassifier(),
}.items():
    p = clf.fit(X_train, y_train).predict_proba(X_test)
    print(f"{name}: negative log-likelihood {log_loss(y_test, p):.3f}")
