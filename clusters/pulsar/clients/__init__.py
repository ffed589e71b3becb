"""Pulsar's clients, and their settings."""
