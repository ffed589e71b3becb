"""Passes the packets that arrive at a host from given peers to `packet_queue`, a process on that host.

Packets are queued at the receiver, never at the sender, where they would count against the sender's socket buffer and
slow TCP down. Without the process, packets pass (`--queue-bypass`).
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

from chaoskit.base.installing import with_extra
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.hosts.host import ServiceHost
from nemeses.network.firewall import FirewallRules
from nemeses.network.peers import Peers

_PROGRAM = Path(__file__).with_name("packet_queue.py")
_MARK = 0x43000000

_START = """
setsid {python} -I -S -c {program} {argument} < /dev/null > /run/chaoskit/{table}.log 2>&1 &
echo $! > /run/chaoskit/{table}.pid
for command in iptables ip6tables; do
    [ $command = ip6tables ] && [ ! -e /proc/net/if_inet6 ] && continue
    $command -w -A INPUT {rule} || exit
done
until grep -q "^ *{queue} " /proc/net/netfilter/nfnetlink_queue; do
    kill -0 $! 2> /dev/null || {{ cat /run/chaoskit/{table}.log >&2; exit 1; }}
    sleep 0.002
done
"""

_STOP = """
for command in iptables ip6tables; do
    while $command -w -D INPUT {rule} 2> /dev/null; do :; done
done
if [ -e /run/chaoskit/{table}.pid ]; then
    kill $(cat /run/chaoskit/{table}.pid) 2> /dev/null
    rm -f /run/chaoskit/{table}.pid /run/chaoskit/{table}.log
fi
"""


def queue_package() -> Path | None:
    """Return the folder of the package that handles the packets; None if it is not installed."""
    package = importlib.util.find_spec("netfilterqueue")
    return None if package is None or package.origin is None else Path(package.origin).parent


def queue_scripts(strike: Strike, host: ServiceHost, peers: Peers, what: Mapping[str, object]) -> tuple[str, str]:
    """Return the bash scripts that start and stop the queue; `what`: arguments of `packet_queue` except queue and seed.

    Raises:
        NemesisError: the package netfilterqueue is missing.
    """
    package = queue_package()
    if package is None:
        raise NemesisError(f"the Python package netfilterqueue is missing: {with_extra('network')}")
    folder = host.install(package)
    table = f"chaoskit_{strike.name}"
    queue = zlib.crc32(strike.name.encode()) & 0xFFFF
    rules = FirewallRules(table, peers, arriving=("counter name {hit}", f"meta mark set {_MARK | queue}"))
    program = f"import sys; sys.path.insert(0, {str(Path(folder).parent)!r})\n{_PROGRAM.read_text()}"
    words = {
        "table": table,
        "queue": queue,
        "rule": f"-m mark --mark {_MARK | queue} -j NFQUEUE --queue-num {queue} --queue-bypass",
        "python": Path(sys.executable).resolve(),
        "program": shlex.quote(program.replace("from __future__ import annotations\n", "")),
        "argument": shlex.quote(json.dumps({**what, "queue": queue, "seed": strike.seed})),
    }
    act = f"{{ {rules.act(strike.lab)} }} || exit\n{_START.format(**words)}"
    return act, f"{_STOP.format(**words)}\n{rules.undo()}"
