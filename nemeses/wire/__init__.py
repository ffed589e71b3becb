"""Faults of single messages, made by taps: transparent proxies on the hosts that know the system's protocol."""
