"""What plug-ins implement: protocols and records, one noun a file. Here a stranger starts to read."""
