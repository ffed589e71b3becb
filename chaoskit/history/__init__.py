"""The history of a run: written ahead by each client, compacted to Parquet, read back for checks."""
