"""chaoskit: chaos and durability tests for message systems.

The engine: scenarios, runs, histories and verdicts. It knows no broker, no fault and no anomaly by
name; those are found through entry points (see `chaoskit.base.plugins`).
"""
