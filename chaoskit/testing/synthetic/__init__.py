"""Histories of a simulated system, of any size: correct ones, and ones with anomalies of known causes.

A run is divided into *slots* of equal length. Clients do the same in each slot: control operations, then the
slot's sends, then one poll per consumer. The number and the time of each operation, and the outcome of each
send, are computed from the slot and the place in it (`layout`, `sends`), so operations and partitions are
written chunk by chunk without sorting them or holding them in memory.
"""
