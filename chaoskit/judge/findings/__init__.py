"""What the checkers find in a history."""
