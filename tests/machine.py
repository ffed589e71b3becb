"""What a run must leave as it was: everything on this machine that chaoskit makes things of.

Other runs and other people make such things at the same time. So what a test compares is what can be its own: it has a
state folder of its own (`private.state`), and what carries the name of a lab counts unless a journal in another state
folder names that lab. What is left of a lab of the test carries a name that no journal knows.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import private
import psutil

from chaoskit.base.state import state_folder
from clusters.hosts.local import LAB_VARIABLE

_BLKIO = Path("/sys/fs/cgroup/blkio")
_LAB = re.compile(r"\bck[0-9a-f]{6}")
_LOOP = "7:"
_LISTINGS = {
    "interfaces": ["ip", "-o", "link", "show"],
    "routes": ["ip", "route", "show", "table", "all"],
    "nftables": ["nft", "list", "tables"],
    "iptables": ["iptables-save"],
}

_CARRIER = re.compile(r" state \w+| linkdown|(?<=<)NO-CARRIER,|,LOWER_UP(?=[,>])")
"""What the kernel says of a link some time after it changed."""

_LINK_LOCAL = ("fe80::", "ff00::")
"""Routes that the kernel adds some time after a link came up."""


def snapshot() -> dict[str, list[str]]:
    """Return a listing of each kind of thing, in a fixed order."""
    own = str(state_folder())
    before = _labs_of_others()
    state = {name: _lines(argv) for name, argv in _LISTINGS.items()}
    state["cgroups"] = sorted(map(str, Path("/sys/fs/cgroup").glob("*/chaoskit/*/")))
    others = before | _labs_of_others()
    state = {name: [line for line in lines if _is_of_a_lab(line, others)] for name, lines in state.items()}
    state["mounts"] = [line for line in sorted(Path("/proc/self/mounts").read_text().splitlines()) if own in line]
    state["loop devices"] = [line for line in _loop_devices() if own in line]
    state["throttles"] = _throttles(own)
    state["processes"] = sorted(_processes(own, others))
    state["labs"] = sorted(path.name for path in (state_folder() / "labs").glob("*"))
    state["journals"] = sorted(path.name for path in (state_folder() / "journal").glob("*"))
    return state


def _loop_devices() -> list[str]:
    """Return the loop devices with their files, without opening any: where somebody syncs all file systems, the open of
    one whose disk is frozen waits until that ends (`losetup -a`)."""
    devices = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # somebody else's is just being detached
            devices.append(f"{path.parts[3]}: {path.read_text().strip()}")
    return sorted(devices)


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


def _labs_of_others() -> set[str]:
    """Return the labs that journals in other state folders name: each is written before anything of a lab is made."""
    states = [private.USUAL, Path("/var/lib/chaoskit")]
    states += [path for state in states for path in (state / private.FOLDER).glob("*")]
    labs = set()
    for journal in (path for state in states if state != state_folder() for path in state.glob("journal/*.jsonl")):
        try:
            entries = journal.read_text().splitlines()
        except FileNotFoundError:  # its run has ended
            continue
        labs |= {json.loads(entry).get("lab", "") for entry in entries if entry.endswith("}")}
    return labs


def _is_of_a_lab(line: str, others: set[str]) -> bool:
    """Return whether a line has the name of a lab that is nobody else's."""
    return any(lab not in others for lab in _LAB.findall(line))


def _lines(argv: list[str]) -> list[str]:
    listing = subprocess.run(argv, text=True, capture_output=True, check=True).stdout
    return sorted(
        _CARRIER.sub("", line) for line in listing.splitlines() if not any(prefix in line for prefix in _LINK_LOCAL)
    )


def _throttles(own: str) -> list[str]:
    """Return the limits of loop devices that back own disks, or none any more."""
    foreign = {
        path.parts[3].removeprefix("loop")
        for path in Path("/sys/block").glob("loop*/loop/backing_file")
        if own not in _backing(path)
    }
    lines = [line for path in sorted(_BLKIO.glob("blkio.throttle.*_device")) for line in path.read_text().splitlines()]
    return [line for line in lines if line.startswith(_LOOP) and line.split()[0].removeprefix(_LOOP) not in foreign]


def _backing(path: Path) -> str:
    """Return the file behind a loop device; nothing if it is being detached, by a neighbour: own labs are at rest."""
    with suppress(OSError):
        return path.read_text()
    return ""


def _processes(own: str, others: set[str]) -> list[str]:
    """Return the command lines of processes of own labs, and of what was started with the own state folder."""
    processes = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        command, environment = " ".join(process.info["cmdline"] or []), process.info["environ"] or {}
        of_lab = _is_of_a_lab(environment.get(LAB_VARIABLE, ""), others)
        if of_lab or own in command or environment.get("CHAOSKIT_STATE") == own:
            processes.append(command)
    return processes
