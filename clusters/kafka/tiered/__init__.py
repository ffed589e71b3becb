"""Tiered storage (KIP-405): segments that are closed are copied to an object store, and brokers may delete theirs."""
