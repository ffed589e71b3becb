"""What verbs are given: options that several share, and which run is meant."""
