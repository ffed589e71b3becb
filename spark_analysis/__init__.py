"""Analysis of many runs, of any size, with Spark: the same checkers, one task per partition."""
