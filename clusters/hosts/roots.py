"""Root file systems of other Debian releases, made once by mmdebstrap and shared by all hosts as their lower layer.

apt verifies every package by its signature. Debian's archive keeps only the current version of a package, so what was
made stays in the cache, with the list of its packages.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from chaoskit.base import durable
from chaoskit.base.downloads import about_to_download, one_at_a_time
from chaoskit.base.errors import BadInput
from chaoskit.base.state import cache_folder
from chaoskit.contract.hosts.host import Root
from clusters.common import debian

_TOOLS = ("openssh-server", "iproute2", "iptables", "iputils-ping", "nftables", "procps", "python3")
"""What a host needs besides the system's own packages: sshd, the tools of faults and probes, and what runs taps."""

_PACKAGES = "packages.txt"
_TREE = "tree"


def make(root: Root) -> None:
    """Make a root file system, unless it is in the cache; takes about a minute.

    Raises:
        BadInput: it cannot be made, or a package has another version than asked for.
    """
    folder = _folder(root)
    with one_at_a_time(folder, f"Debian {root.release} with {', '.join(root.packages)}"):
        if not (folder / _PACKAGES).exists():
            _make(root, folder)


def tree(root: Root) -> Path:
    """Return the folder of a root file system that was made."""
    return _folder(root) / _TREE


def packages(root: Root) -> dict[str, str]:
    """Return the versions of all packages of a root file system that was made, by name."""
    return _listed((_folder(root) / _PACKAGES).read_text())


def _folder(root: Root) -> Path:
    asked = json.dumps([root.release, sorted(root.packages.items()), _TOOLS])
    return cache_folder() / "roots" / f"{root.release}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


def _make(root: Root, folder: Path) -> None:
    about_to_download(f"Debian {root.release} with {', '.join(root.packages)} from the Debian archive")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
        made = Path(scratch, "root")
        made.mkdir()
        debian.bootstrap(root.release, [*root.packages, *_TOOLS], made / _TREE)
        query = ("dpkg-query", "-W", "-f", "${Package}\t${Version}\n")
        listed = debian.run("chroot", str(made / _TREE), *query).stdout
        _check(root, _listed(listed))
        durable.write(made / _PACKAGES, listed.encode())
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


def _check(root: Root, versions: dict[str, str]) -> None:
    """Reject packages of another upstream version than asked for: the archive no longer has that one."""
    for name, wanted in root.packages.items():
        has = debian.upstream(versions[name])
        if wanted and has != wanted:
            raise BadInput(
                f"cluster.version: Debian {root.release} has {name} {has} now, not {wanted}; write version: {has}"
            )


def _listed(text: str) -> dict[str, str]:
    return dict(line.split("\t") for line in text.splitlines())
