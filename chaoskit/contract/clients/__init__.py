"""What a system's clients implement, a module for each data model, and what records them."""
