"""Checks, in a separate network namespace, whether this kernel supports what network faults need."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from chaoskit.base.errors import BadInput

_LOSE = """
ip link set lo up
nft -f - <<RULES
table netdev try {
chain out {
type filter hook egress devices = { "lo" } priority 0
ip daddr 127.0.0.2 numgen random mod 100 < 99 drop
ip daddr 127.0.0.2 drop
}
}
table inet try {
chain in { type filter hook input priority raw; ip daddr 127.0.0.3 meta l4proto tcp reject with tcp reset; }
}
RULES
ping -c1 -W0.2 127.0.0.1 > /dev/null
! ping -c1 -W0.2 127.0.0.2 > /dev/null 2>&1
"""

_QUEUE = """
ip link set lo up
iptables -w -A INPUT -m mark --mark 7 -j NFQUEUE --queue-num 7 --queue-bypass
ip6tables -w -A INPUT -m mark --mark 7 -j NFQUEUE --queue-num 7 --queue-bypass
"$1" -c 'from netfilterqueue import NetfilterQueue; NetfilterQueue().bind(7, print)'
"""

_SHAPE = """
ip link set lo up
tc qdisc add dev lo root handle 1: htb default 0
tc class add dev lo parent 1: classid 1:10 htb rate 8mbit
tc filter add dev lo parent 1: prio 1 protocol ip u32 match ip dst 127.0.0.2/32 flowid 1:10
tc filter add dev lo parent 1: prio 2 protocol ipv6 u32 match ip6 dst ::1/128 flowid 1:10
"""

_RESET = """
ip link set lo up
"$1" - <<'PROGRAM'
import socket, subprocess
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
    subprocess.run(["ss", "-K", "sport", "=", f":{client.getsockname()[1]}"], check=True, stdout=subprocess.DEVNULL)
    try:
        client.send(b"x")
    except OSError:
        raise SystemExit(0)
    raise SystemExit("the kernel did not end the connection")
PROGRAM
"""

_TAP = """
ip link set lo up
ip rule add fwmark 7 lookup 7
ip route add local default dev lo table 7
nft -f - <<RULES
table ip try {
chain in { type filter hook prerouting priority mangle; tcp dport 7 tproxy to :7 accept; }
chain out { type route hook output priority mangle; meta mark 7 ct mark set 7; ct direction reply meta mark set 7; }
}
RULES
"""


def try_loss() -> str:
    """Drop and reject packets with nftables."""
    return _attempt(_LOSE, "packets are dropped at the device and rejected")


def try_queue() -> str:
    """Pass packets to a process.

    Raises:
        BadInput: the Python package is missing.
    """
    if importlib.util.find_spec("netfilterqueue") is None:
        raise BadInput("the Python package netfilterqueue is not installed")
    return _attempt(_QUEUE, "packets can be passed to a process")


def try_shaping() -> str:
    """Limit bandwidth with tc."""
    return _attempt(_SHAPE, "htb classes and u32 filters work")


def try_reset() -> str:
    """Reset a connection with `ss -K`."""
    return _attempt(_RESET, "ss -K resets a connection")


def try_tap() -> str:
    """Pass connections to a proxy with nftables, and the answers back to it."""
    return _attempt(_TAP, "connections can be passed to a proxy as they are")


def _attempt(script: str, success: str) -> str:
    argv = ["unshare", "--net", "--mount", "bash", "-euc", script, "try", sys.executable]
    subprocess.run(argv, text=True, capture_output=True, check=True, timeout=20)
    return success
