"""Running units of work: in this process, in local processes or on a Dask cluster."""
