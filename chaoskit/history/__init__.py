"""The history of a run: each client writes a log, logs are compacted to Parquet, checkers read the result."""
