"""A message system that chaoskit has never heard of, and all that it takes to test it."""
