"""Shared foundations: errors, quantities, files, the store, the journal, plug-ins."""
