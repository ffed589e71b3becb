"""From findings to what explains them: mechanisms, derived from the record for each message."""
