"""What the settings of Cyclone DDS promise and allow, by topic."""
