"""Removing a lab: whatever is left of it, in the order in which the kernel lets go of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import psutil

from chaoskit.contract.hosts.host import HostError
from clusters.hosts.disk.layout import DISKS, THROTTLE
from clusters.hosts.disk.plain import attached
from clusters.hosts.disk.throttle import lift
from clusters.hosts.exposure import unshield
from clusters.hosts.limits import remove_limits
from clusters.hosts.local import LAB_VARIABLE
from clusters.hosts.network import ip, links
from clusters.hosts.power import thaw

_DETACH_TIMEOUT_S = 10
_THAW_TIMEOUT_S = 1


def remove(lab: str, folder: Path) -> list[str]:
    """Remove everything that is left of a lab; idempotent."""
    removed = []
    for note in folder.glob(f"*/{DISKS}/*/{THROTTLE}"):
        lift(note)
    processes = _first_processes(lab)
    _thaw_all(processes)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
        removed.append(f"process {process.pid}")
    _await_all_detached(folder)
    remove_limits(lab)
    if unshield(lab):
        removed.append(f"nftables table {lab}")
    for link in links():
        if link.startswith(lab):
            ip(f"link delete {link}", check=False)
            removed.append(f"interface {link}")
    if folder.exists():
        shutil.rmtree(folder)
        removed.append(f"folder {folder}")
    return removed


def _first_processes(lab: str) -> list[psutil.Process]:
    processes = psutil.process_iter(["environ"])
    return [process for process in processes if (process.info["environ"] or {}).get(LAB_VARIABLE) == lab]


def _thaw_all(processes: Sequence[psutil.Process]) -> None:
    """Thaw the hosts' disks while the hosts are alive; afterwards it is not possible.

    A disk that hangs for another reason blocks this call until its host ends, so it is not waited for.
    """
    roots = [Path(f"/proc/{child.pid}/root") for process in processes for child in _children(process)]
    mounts = [mount for root in roots for mount in (root / "data", *(root / "disks").glob("*"))]
    threads = [Thread(target=thaw, args=(mount,), daemon=True) for mount in mounts]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _THAW_TIMEOUT_S
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:  # it exited in the meantime
        return []


def _await_all_detached(folder: Path) -> None:
    """Wait for the kernel to detach the disks of hosts that were just stopped."""
    deadline = time.monotonic() + _DETACH_TIMEOUT_S
    while devices := attached(folder):
        if time.monotonic() > deadline:
            raise HostError(
                f"disks in {folder} are still attached to {', '.join(devices)}: something keeps them mounted"
            )
        time.sleep(0.005)
