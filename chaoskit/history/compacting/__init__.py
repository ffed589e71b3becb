"""From write-ahead logs to Parquet files with a manifest."""
