"""Several pipes that answer together, and pipes in a learned metric."""
