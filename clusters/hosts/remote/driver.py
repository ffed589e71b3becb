"""Drivers over SSH: machines of an inventory that run clients."""

from __future__ import annotations

import secrets
import shlex
import subprocess
import tarfile
import tempfile
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.journal import Journal
from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import HostError
from chaoskit.contract.hosts.shell import bash
from chaoskit.history.compacting.drivers import DriverLog
from clusters.hosts.remote.inventory import DriverSpec, Inventory
from clusters.hosts.remote.machine import RemoteMachine
from clusters.hosts.remote.reach import Obstacle, address_of, disconnect, logged_in

KEY = "cluster.inventory.drivers"

_PACKAGE = "chaoskit"
_VERSION = f"from importlib.metadata import version; print(version({_PACKAGE!r}))"
_READABLE = 'for file; do [ -r "$file" ] || echo "$file"; done'
_WRITABLE = (
    'folder=$1; while [ ! -e "$folder" ]; do folder=$(dirname "$folder"); done; [ -d "$folder" -a -w "$folder" ]'
)
_MODULES = "chaoskit.run."
_END = f"""
cd "$1" || exit 0
for file in *.pid; do
    id=$(cat "$file" 2> /dev/null) || continue
    if grep -qsF {_MODULES} "/proc/$id/cmdline"; then kill -s KILL "$id"; fi
done
"""
_REMOVE = 'rm -rf "$1"; rmdir --ignore-fail-on-non-empty "$(dirname "$1")" 2> /dev/null; true'


class RemoteDriver:
    """See `chaoskit.contract.clients.driver.LoadHost`.

    Args:
        name: its name in the inventory.
        spec: what the inventory says of it.
        mark: name of the folder of a run there.
    """

    def __init__(self, name: str, spec: DriverSpec, mark: str = "") -> None:
        self.name = name
        self.spec = spec
        self.machine = RemoteMachine(name, address_of(name, spec.address or name, KEY), spec)
        self.folder = f"{spec.folder}/{mark}"

    def obstacle(self, files: Collection[str]) -> Obstacle | None:
        """Return why it cannot run clients that read some files; None if it can."""
        key, python = f"{KEY}.{self.name}", self.spec.python
        seen = logged_in(self.machine, key, [python, "-c", _VERSION])
        if isinstance(seen, Obstacle):
            return seen
        installed, wanted = seen.out.strip(), version(_PACKAGE)
        if seen.status != 0 or installed != wanted:
            has = f"has chaoskit {installed}" if seen.status == 0 else f"has no chaoskit ({_last(seen.err)})"
            remedy = f"install chaoskit {wanted} there, or set python to the one that has it"
            return Obstacle(f"{key}.python", f"{python} {has}", remedy)
        if missing := bash(self.machine, _READABLE, *files).out.split("\n")[:-1]:
            return Obstacle(key, f"clients read {', '.join(missing)}, which is not there", "copy it to the same place")
        if bash(self.machine, _WRITABLE, self.spec.folder, check=False).status != 0:
            return Obstacle(f"{key}.folder", f"{self.spec.folder} cannot be written", "name one that can")
        return None

    def spawn(self, name: str, argv: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        pid = shlex.quote(f"{self.folder}/{name}.pid")
        command = shlex.join([self.spec.python, "-m", *argv])
        with log.open("wb") as errors:
            return subprocess.Popen(
                self._openssh(f"echo $$ > {pid}; exec {command}"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def gather(self, wal: Path) -> None:
        bash(self.machine, _END, self.folder)
        # Not in a pipe of the shell, whose status would be that of gzip: what tar could not read would be removed.
        pack = ["tar", "-C", self.folder, "--exclude=*.pid", "-I", "gzip -1", "-cf", "-", "."]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(self._openssh(shlex.join(pack)), stdout=subprocess.PIPE, stderr=errors) as copying,
        ):
            assert copying.stdout is not None
            failed = ""
            try:
                with tarfile.open(fileobj=copying.stdout, mode="r|gz") as tar:
                    tar.extractall(wal, filter="data")
                    copying.stdout.read()
            except (tarfile.TarError, OSError, EOFError) as error:
                failed = str(error)
            copying.stdout.close()
            if copying.wait() != 0 or failed:
                errors.seek(0)
                why = errors.read().decode(errors="replace").strip() or failed
                raise HostError(f"driver {self.name}: its records in {self.folder} cannot be copied: {why}")

    def close(self) -> None:
        bash(self.machine, _REMOVE, self.folder)
        self.machine.disconnect()

    def _openssh(self, command: str) -> list[str]:
        """Return a command of OpenSSH; it ends when the connection has been silent for 15 s."""
        options = ["BatchMode=yes", "StrictHostKeyChecking=yes", "LogLevel=ERROR", "ServerAliveInterval=5"]
        if self.spec.known_hosts:
            options.append(f"UserKnownHostsFile=~/.ssh/known_hosts {self.spec.known_hosts}")
        return [*self.machine.ssh(*(word for option in options for word in ("-o", option))), command]


def check_drivers(inventory: Inventory, names: Sequence[str], files: Collection[str]) -> None:
    """See `chaoskit.contract.clients.driver.Driving`."""
    problems = Problems()
    known = [problems.tried(RemoteDriver, name, inventory.drivers[name]) for name in names]
    drivers = [driver for driver in known if driver is not None]
    for obstacle in filter(None, on_each(drivers, lambda driver: driver.obstacle(files))):
        problems.add(BadInput(f"{obstacle.key}: {obstacle.what}; {obstacle.remedy}"))
    disconnect([driver.machine for driver in drivers])
    problems.raise_any()


def survey_drivers(inventory: Inventory) -> list[Capability]:
    """Return whether each driver can run clients."""
    capabilities = []
    for name, spec in inventory.drivers.items():
        try:
            driver = RemoteDriver(name, spec)
        except BadInput as error:
            capabilities.append(Capability(f"{name}: address", False, str(error), "write its address"))
            continue
        obstacle = driver.obstacle([])
        capability = Capability(f"{name}: driver", True, driver.machine.access())
        if obstacle is not None:
            capability = Capability(f"{name}: driver", False, obstacle.what, obstacle.remedy)
        capabilities.append(capability)
        driver.machine.disconnect()
    return capabilities


def opened(
    journal: Journal, provider: str, inventory: Inventory, names: Sequence[str], wal: Path
) -> list[RemoteDriver]:
    """Return drivers, ready to run clients; see `chaoskit.contract.clients.driver.Driving`."""
    mark = secrets.token_hex(8)
    drivers = [RemoteDriver(name, inventory.drivers[name], mark) for name in names]
    for driver in drivers:
        spec = driver.spec.model_dump(mode="json")
        journal.record(provider, driver=driver.name, spec=spec, mark=mark, wal=str(wal))
        driver.machine.run(["mkdir", "-p", "-m", "700", driver.folder])
    return drivers


def undo_driver(entry: Mapping[str, Any]) -> list[str]:
    """Gather what clients of a run that was killed recorded on a driver, and remove it there."""
    driver = RemoteDriver(entry["driver"], DriverSpec.model_validate(entry["spec"]), entry["mark"])
    if driver.machine.run(["test", "-d", driver.folder], check=False).status != 0:
        driver.machine.disconnect()
        return []
    wal = Path(entry["wal"])
    if wal.is_dir():
        driver.gather(wal)
        DriverLog(wal).gathered(driver.name)
    driver.close()
    return [f"{driver.folder} of driver {driver.name}" + (f", copied to {wal}" if wal.is_dir() else "")]


def _last(output: str) -> str:
    return (output.strip().splitlines() or ["no output"])[-1]
