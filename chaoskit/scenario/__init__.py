"""What to run: the model of a scenario, its plan, its timeline."""
