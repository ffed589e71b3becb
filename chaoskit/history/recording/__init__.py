"""What one client did, safe as soon as it happened: the write-ahead log."""
