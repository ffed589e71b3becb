"""Scenarios: their model, files, plan and timeline."""
