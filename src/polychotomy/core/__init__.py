"""What every package may use: values, sentences, small functions. Knows nothing of the others."""
