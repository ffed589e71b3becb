"""The control groups of local hosts: `chaoskit/<lab>/<host>` limits a host's CPU and memory; cgroup v1 or v2.

A host's first process is put into it at boot, so everything on the host is in it; it is removed with the lab.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from chaoskit.contract.host import HostError

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_EMPTY_TIMEOUT_S = 5
_UNLIMITED = "-1"
_WEIGHT = 16
"""What all hosts together count for beside a process in no control group, when there is too little CPU. A group counts
as one process unless told: a handful of busy clients would starve all brokers."""


def _unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def _folders(name: str) -> list[Path]:
    roots = [_ROOT] if _unified() else [_ROOT / "cpu", _ROOT / "memory"]
    return [root / "chaoskit" / name for root in roots]


def _make(folder: Path) -> None:
    """Make a group; in cgroup v2 each parent, from the root down, hands the controllers on."""
    folder.mkdir(parents=True, exist_ok=True)
    labs = folder.parent.parent
    if _unified():
        for parent in (_ROOT, labs, folder.parent):
            (parent / "cgroup.subtree_control").write_text("+cpu +memory")
    if _beside_processes():
        file, unit = ("cpu.weight", 100) if _unified() else ("cpu.shares", 1024)
        if (labs / file).exists():
            with suppress(OSError):
                (labs / file).write_text(str(unit * _WEIGHT))


def _beside_processes() -> bool:
    """Return whether this process competes with the hosts' group itself, and not in a group of its own, such as a
    user's session, that counts as much as theirs."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    return any(path == "/" for _, controllers, path in lines if not controllers or "cpu" in controllers.split(","))


class HostLimits:
    """What a host may use of the machine; see `chaoskit.contract.host.ResourceLimits`. A part of a local host."""

    def __init__(self, lab: str, name: str) -> None:
        self._name = name
        self._folders = _folders(f"{lab}/{name}")

    def adopt(self, pid: int) -> None:
        """Put a host's first process in; nothing where this machine lets nobody make control groups."""
        for folder in self._folders:
            try:
                _make(folder)
                (folder / "cgroup.procs").write_text(str(pid))
            except OSError:
                return

    def limit_cpu(self, cores: float | None) -> None:
        """Let the host use this many cores' time in each 100 ms; None: all."""
        quota = None if cores is None else round(cores * _PERIOD_US)
        if _unified():
            self._write(0, "cpu.max", f"{quota or 'max'} {_PERIOD_US}")
        else:
            self._write(0, "cpu.cfs_quota_us", str(quota or _UNLIMITED))

    def limit_memory(self, size: int | None) -> None:
        """Let the host use this many bytes, its page cache included; None: all."""
        if _unified():
            self._write(0, "memory.max", str(size or "max"))
        else:
            self._write(1, "memory.limit_in_bytes", str(size or _UNLIMITED))

    def throttled(self) -> int:
        """Return in how many periods the host was stopped because it had used up its CPU."""
        return self._count(0, "cpu.stat", "nr_throttled")

    def memory_used(self) -> int:
        """Return how many bytes the host's processes hold that cannot be read from disk again."""
        return self._count(-1, "memory.stat", "anon" if _unified() else "total_rss")

    def memory_refused(self) -> int:
        """Return how often memory had to be reclaimed because the limit was reached."""
        if _unified():
            return self._count(0, "memory.events", "max")
        return int(self._read(1, "memory.failcnt"))

    def _count(self, which: int, file: str, key: str) -> int:
        counts = dict(line.split() for line in self._read(which, file).splitlines())
        return int(counts[key])

    def _read(self, which: int, file: str) -> str:
        try:
            return (self._folders[which] / file).read_text()
        except OSError as error:
            raise HostError(f"host {self._name} has no limits: {error}; `chaoskit doctor` says why") from error

    def _write(self, which: int, file: str, content: str) -> None:
        try:
            (self._folders[which] / file).write_text(content)
        except OSError as error:
            raise HostError(f"host {self._name}: {content} was refused: {error}; `chaoskit doctor` says why") from error


def remove_limits(lab: str) -> None:
    """Remove the control groups of a lab whose processes have ended.

    Raises:
        HostError: something still runs in one.
    """
    deadline = time.monotonic() + _EMPTY_TIMEOUT_S
    for folder in _folders(lab):
        for group in [*folder.glob("*/"), folder]:
            while group.exists():
                try:
                    group.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise HostError(f"{group} cannot be removed: {error}") from error
                    time.sleep(0.005)
        with suppress(OSError):  # other labs have theirs in it
            folder.parent.rmdir()


def try_limits() -> str:
    """Make a control group and limit it, as `chaoskit doctor` does."""
    limits = HostLimits("doctor", "try")
    try:
        for folder in _folders("doctor/try"):
            _make(folder)
        limits.limit_cpu(0.5)
        limits.limit_memory(2**26)
    finally:
        remove_limits("doctor")
    return f"cgroup v{2 if _unified() else 1}: CPU and memory of a group can be limited"
