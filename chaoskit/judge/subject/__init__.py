"""What a run declared, with the settings that were in effect."""
