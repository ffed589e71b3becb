"""What a nemesis implements, what it is given, and what it gives back."""
