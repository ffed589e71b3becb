"""The smallest log, and all that it takes to test it."""
