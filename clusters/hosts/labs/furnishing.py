"""What the hosts of a lab find at boot: keys, names, the configuration of sshd, and their data disks."""

from __future__ import annotations

import subprocess
from ipaddress import IPv4Network
from pathlib import Path

from chaoskit.contract.hosts.disk import DATA
from chaoskit.contract.hosts.host import HostError
from clusters.hosts.disk.layout import DISKS
from clusters.hosts.disk.options import DiskOptions
from clusters.hosts.disk.plain import PlainDisk
from clusters.hosts.disk.programmable import SoftwareDisk
from clusters.hosts.network import PREFIX_LENGTH, address6

_SSHD_CONFIG = """\
Port 22
ListenAddress 0.0.0.0
HostKey /run/ssh-of-lab/host_key
AuthorizedKeysFile /run/ssh-of-lab/client_key.pub
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
PasswordAuthentication no
PidFile none
MaxSessions 200
MaxStartups 200
LogLevel INFO
Subsystem sftp internal-sftp
"""


def addresses_of(network: IPv4Network, count: int) -> dict[str, str]:
    """Return the address, with prefix length, of each host."""
    return {f"n{index}": f"{network[index]}/{PREFIX_LENGTH}" for index in range(1, count + 1)}


def furnish(folder: Path, network: IPv4Network, count: int) -> None:
    """Create the folder with the keys, the hosts file and the configuration of sshd."""
    folder.mkdir(parents=True, mode=0o700)
    for key in ("host_key", "client_key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    addresses = {name: address.split("/")[0] for name, address in addresses_of(network, count).items()}
    table = "".join(f"{address} {name}\n" for name, address in addresses.items())
    table6 = "".join(f"{address6(address)} {name}-v6\n" for name, address in addresses.items() if address6(address))
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{table}{table6}")
    (folder / "sshd_config").write_text(_SSHD_CONFIG)


def disks_of(folder: Path, host: str, options: DiskOptions) -> list[PlainDisk]:
    """Create the data disks of a host, in its folder."""
    folder = folder / DISKS
    disks: list[PlainDisk] = []
    for name, disk in options.each().items():
        image = options.images.get(host) if name == DATA else None
        if disk.kind == "plain":
            disks.append(PlainDisk(name, folder / name, disk, image))
        else:
            owner = host if name == DATA else f"{host}:{name}"
            disks.append(SoftwareDisk(name, folder / name, disk, image, owner))
    return disks


def _run(*argv: str) -> None:
    done = subprocess.run(argv, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise HostError(f"{argv[0]} failed: {done.stderr.strip()}")
