"""Control groups of local hosts: `chaoskit/<lab>/<host>` limits the CPU and memory of a host; cgroup v1 or v2.

A host's first process joins the group at boot, so everything on the host is in it. It is removed with the lab.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from chaoskit.contract.hosts.host import HostError

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_EMPTY_TIMEOUT_S = 5
_UNLIMITED = "-1"
_WEIGHT = 16
"""CPU weight of all hosts together, relative to a process outside any control group. By default a group has the weight
of one process, so a few busy clients would starve all brokers."""


def _unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def _folders(name: str) -> list[Path]:
    roots = [_ROOT] if _unified() else [_ROOT / "cpu", _ROOT / "memory"]
    return [root / "chaoskit" / name for root in roots]


def _make(folder: Path) -> None:
    """Create a group; in cgroup v2 each parent, from the root down, must delegate the controllers."""
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
    """Return whether this process competes with the hosts' group directly, rather than as part of another group, such
    as a user session, with the same weight."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    return any(path == "/" for _, controllers, path in lines if not controllers or "cpu" in controllers.split(","))


class HostLimits:
    """The resource limits of a local host; see `chaoskit.contract.hosts.host.ResourceLimits`. A mix-in."""

    def __init__(self, lab: str, name: str) -> None:
        self._name = name
        self._folders = _folders(f"{lab}/{name}")

    def adopt(self, pid: int) -> None:
        """Add a host's first process; does nothing if this machine does not allow control groups."""
        for folder in self._folders:
            try:
                _make(folder)
                (folder / "cgroup.procs").write_text(str(pid))
            except OSError:
                return

    def limit_cpu(self, cores: float | None) -> None:
        """Limit the host's CPU time in each 100 ms to this many cores; None removes the limit."""
        quota = None if cores is None else round(cores * _PERIOD_US)
        if _unified():
            self._write(0, "cpu.max", f"{quota or 'max'} {_PERIOD_US}")
        else:
            self._write(0, "cpu.cfs_quota_us", str(quota or _UNLIMITED))

    def limit_memory(self, size: int | None) -> None:
        """Limit the host's memory to this many bytes, including the page cache; None removes the limit."""
        if _unified():
            self._write(0, "memory.max", str(size or "max"))
        else:
            self._write(1, "memory.limit_in_bytes", str(size or _UNLIMITED))

    def throttled(self) -> int:
        """Return the number of periods in which the host was throttled because its CPU quota was used up."""
        return self._count(0, "cpu.stat", "nr_throttled")

    def memory_used(self) -> int:
        """Return the bytes of memory that the host's processes hold, without what can be read from disk again."""
        return self._count(-1, "memory.stat", "anon" if _unified() else "total_rss")

    def memory_refused(self) -> int:
        """Return how often memory was reclaimed because the limit was reached."""
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
            raise HostError(f"host {self._name} has no control group: {error}; see `chaoskit doctor`") from error

    def _write(self, which: int, file: str, content: str) -> None:
        try:
            (self._folders[which] / file).write_text(content)
        except OSError as error:
            raise HostError(
                f"host {self._name}: cannot set the limit {content}: {error}; see `chaoskit doctor`"
            ) from error


def remove_limits(lab: str) -> None:
    """Remove the control groups of a lab whose processes have exited.

    Raises:
        HostError: a process is still running in one.
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
        with suppress(OSError):  # other labs still use it
            folder.parent.rmdir()


def try_limits() -> str:
    """Create a control group and set limits, for `chaoskit doctor`."""
    limits = HostLimits("doctor", "try")
    try:
        for folder in _folders("doctor/try"):
            _make(folder)
        limits.limit_cpu(0.5)
        limits.limit_memory(2**26)
    finally:
        remove_limits("doctor")
    return f"cgroup v{2 if _unified() else 1}: CPU and memory of a group can be limited"
