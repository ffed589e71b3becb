"""The ledger workload: writers fill ledgers, readers tail them, a recoverer closes them while they are being written.

A writer creates a ledger, adds entries without waiting for each, closes it and creates the next one. When an add fails,
as all adds do after the ledger was recovered, it continues with a new ledger and the next message. Readers and the
recoverer find ledgers by asking the system which ones are open for writing.
"""
