"""Root file systems of other Debian releases, made once by mmdebstrap and shared by all hosts as their lower layer.

apt verifies every package by its signature. Debian's archive keeps only the current version of a package, so what was
made stays in the cache, with the list of its packages.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from chaoskit.base import durable
from chaoskit.base.downloads import about_to_download, one_at_a_time
from chaoskit.base.errors import BadInput
from chaoskit.base.state import cache_folder
from chaoskit.contract.hosts.host import Root

_TOOLS = ("openssh-server", "iproute2", "iptables", "iputils-ping", "nftables", "procps", "python3")
"""What a host needs besides the system's own packages: sshd, the tools of faults and probes, and what runs taps."""

_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
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
    if shutil.which("mmdebstrap") is None or not Path(_KEYS).exists():
        raise BadInput(
            f"the hosts need a root of Debian {root.release}: apt-get install mmdebstrap debian-archive-keyring"
        )
    if os.geteuid() != 0:
        raise BadInput(f"making a root of Debian {root.release} requires root: run with sudo")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
        made = Path(scratch, "root")
        made.mkdir()
        _bootstrap(root, made / _TREE)
        listed = _run("chroot", str(made / _TREE), "dpkg-query", "-W", "-f", "${Package}\t${Version}\n")
        _check(root, _listed(listed))
        durable.write(made / _PACKAGES, listed.encode())
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


def _bootstrap(root: Root, target: Path) -> None:
    wanted = ",".join([*root.packages, *_TOOLS])
    # The current date of a test machine may lie after that of the last signed list of an unstable release.
    late = "--aptopt=Acquire::Check-Valid-Until false"
    options = ["--mode=root", "--variant=minbase", "--quiet", late, f"--keyring={_KEYS}", f"--include={wanted}"]
    _run("mmdebstrap", *options, root.release, str(target))


def _check(root: Root, versions: dict[str, str]) -> None:
    """Reject packages of another upstream version than asked for: the archive no longer has that one."""
    for name, wanted in root.packages.items():
        upstream = versions[name].partition(":")[2] or versions[name]
        if wanted and upstream.partition("-")[0] != wanted:
            has = upstream.partition("-")[0]
            raise BadInput(
                f"cluster.version: Debian {root.release} has {name} {has} now, not {wanted}; write version: {has}"
            )


def _listed(text: str) -> dict[str, str]:
    return dict(line.split("\t") for line in text.splitlines())


def _run(*argv: str) -> str:
    done = subprocess.run(argv, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W:"))]
        raise BadInput(f"{argv[0]} failed: {'; '.join(errors[-3:]) or done.stderr.strip()[-300:]}")
    return done.stdout
