"""What the settings of Zenoh promise and allow, by topic."""
