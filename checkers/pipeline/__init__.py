"""Checks of an application under test: what became of each of its inputs, by what it wrote."""
