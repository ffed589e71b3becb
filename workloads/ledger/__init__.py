"""The ledger workload: writers fill ledgers, readers tail them, a recoverer ends them under the writers' hands."""
