"""The transactions workload: the log workload with producers that write in transactions, round-robin to all partitions.

Every producer registers under a persistent name, so that each incarnation fences the previous one. Every registration,
begin and end is recorded, and for each send the transaction that it belongs to (docs/history.md).
"""
