"""Transactions: atomicity, isolation and fencing."""
