"""The user's application under test: its instances on hosts of their own, as nemeses and the history see them."""
