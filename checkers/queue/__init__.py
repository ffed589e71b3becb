"""Queues: settlement, limits, priorities, expiry and dead letters."""
