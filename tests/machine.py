"""What a run must leave as it was: everything on this machine that chaoskit makes things of."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import psutil

from chaoskit.base.state import state_folder

_BLKIO = Path("/sys/fs/cgroup/blkio")
_LISTINGS = {
    "network namespaces": ["ip", "netns", "list"],
    "interfaces": ["ip", "-o", "link", "show"],
    "routes": ["ip", "route", "show", "table", "all"],
    "loop devices": ["losetup", "-a"],
    "nftables": ["nft", "list", "ruleset"],
    "iptables": ["iptables-save"],
}

_CARRIER = re.compile(r" state \w+| linkdown|(?<=<)NO-CARRIER,|,LOWER_UP(?=[,>])")
"""What the kernel says of a link some time after it changed."""


def snapshot() -> dict[str, list[str]]:
    """Return a listing of each kind of thing, in a fixed order."""
    state = {name: _lines(argv) for name, argv in _LISTINGS.items()}
    state["mounts"] = sorted(Path("/proc/self/mounts").read_text().splitlines())
    state["processes"] = sorted(_own_processes())
    state["cgroups"] = sorted(map(str, Path("/sys/fs/cgroup").glob("*/chaoskit")))
    state["throttles"] = [path.read_text() for path in sorted(_BLKIO.glob("blkio.throttle.*_device"))]
    state["labs"] = sorted(path.name for path in (state_folder() / "labs").glob("*"))
    state["journals"] = sorted(path.name for path in (state_folder() / "journal").glob("*"))
    return state


def _lines(argv: list[str]) -> list[str]:
    listing = subprocess.run(argv, text=True, capture_output=True, check=True).stdout
    return sorted(_CARRIER.sub("", line) for line in listing.splitlines() if not line.startswith("#"))


def _own_processes() -> list[str]:
    """Command lines of hosts, services and clients that a run starts."""
    systems = ("kafka.Kafka", "QuorumPeerMain", "bookkeeper.server.Main", "PulsarBrokerStarter")
    marks = ("unshare", "sshd_config", *systems, "chaoskit.run.worker", "clusters.hosts", "nemeses.network")
    commands = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [command for command in commands if any(mark in command for mark in marks)]
