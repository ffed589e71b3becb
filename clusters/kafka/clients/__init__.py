"""Kafka's clients, and their settings."""
