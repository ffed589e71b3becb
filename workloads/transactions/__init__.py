"""The transactions workload: the log workload, its producers writing in transactions over all partitions in turn.

Every producer registers under a lasting name, so that an incarnation fences the one before. Every registration,
begin and end is recorded, and of each send to which transaction it belongs (docs/history.md).
"""
