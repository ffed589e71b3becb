"""chaoskit: chaos and durability tests for message systems.

The engine: scenarios, runs, histories and verdicts. It knows no broker, fault or anomaly by name;
it finds them through entry points (see `chaoskit.base.plugins`).
"""
