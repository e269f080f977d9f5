"""Values, input checks and small functions for every package; it imports none of them."""
