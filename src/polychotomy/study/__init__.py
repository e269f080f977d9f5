"""Studies that compare methods on data sets."""
