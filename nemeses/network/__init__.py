"""Faults of networks, made on the hosts that they hit with nftables, NFQUEUE, tc and ss; IPv4 and IPv6."""
