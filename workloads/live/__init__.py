"""The load of a live cluster: the user's own clients, of which chaoskit runs none."""
