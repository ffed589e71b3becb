"""Network faults, injected on the target hosts with nftables, NFQUEUE, tc and ss; for IPv4 and IPv6."""
