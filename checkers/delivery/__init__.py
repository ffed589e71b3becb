"""What can go wrong with a message under every data model: lost, phantom, corrupt, delivered twice, stuck."""
