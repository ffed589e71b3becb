"""Rules that several systems share."""
