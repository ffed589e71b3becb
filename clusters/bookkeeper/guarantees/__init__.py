"""What the settings of BookKeeper promise and allow, by topic."""
