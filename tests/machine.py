"""What a run must leave as it was: everything on this machine that chaoskit makes things of."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import psutil

from chaoskit.base.state import state_folder

_INIT = 1
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


def settled() -> dict[str, list[str]]:
    """Return a listing that has stopped to change: the kernel adds the routes of a new interface a while later."""
    last = snapshot()
    for _ in range(20):
        time.sleep(0.5)
        now = snapshot()
        if now == last:
            break
        last = now
    return last


def _lines(argv: list[str]) -> list[str]:
    listing = subprocess.run(argv, text=True, capture_output=True, check=True).stdout
    return sorted(_CARRIER.sub("", line) for line in listing.splitlines() if not line.startswith("#"))


def _own_processes() -> list[str]:
    """Command lines of hosts, services and clients that a run of this test starts, or that nobody waits for any more.

    Those of other tests, which may run on this machine at the same time, are their children.
    """
    systems = ("kafka.Kafka", "QuorumPeerMain", "bookkeeper.server.Main", "PulsarBrokerStarter")
    marks = ("unshare", "sshd_config", *systems, "chaoskit.run.worker", "clusters.hosts", "nemeses.network")
    found = []
    for process in psutil.process_iter(["cmdline", "ppid"]):
        command = " ".join(process.info["cmdline"] or [])
        if any(mark in command for mark in marks) and (process.info["ppid"] == _INIT or _is_ours(process)):
            found.append(command)
    return found


def _is_ours(process: psutil.Process) -> bool:
    try:
        return os.getpid() in (parent.pid for parent in process.parents())
    except psutil.NoSuchProcess:
        return False
