"""The ledger workload: writers fill ledgers, readers tail them, a recoverer ends them under the writers' hands.

A writer makes a ledger, adds its entries without waiting for each, ends it and makes the next; when an add fails,
as all do once the ledger was recovered, it goes on with a new ledger and the next message. Readers and the recoverer
find ledgers by asking the system which are open for writing.
"""
