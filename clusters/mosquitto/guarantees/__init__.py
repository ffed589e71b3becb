"""What the settings of Mosquitto promise and allow, by topic."""
