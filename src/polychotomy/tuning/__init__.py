"""Choosing parameters by cross-validating the multi-class result."""
