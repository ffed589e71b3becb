"""What everything stands on: errors, quantities, files, the store, the journal, plug-ins."""
