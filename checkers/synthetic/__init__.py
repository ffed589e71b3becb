"""Histories of a simulated system, of any size: correct ones, and ones with anomalies of known cause.

A run is cut into *slots* of equal length. In each slot clients do the same: control operations, then
the slot's sends, then one poll of every consumer. So the number and the time of each operation, and
what each send became, follow by arithmetic from the slot and the place in it (`layout`, `sends`), and
operations and partitions are written chunk by chunk without being sorted or held in memory.
"""
