"""Debian's archive, as mmdebstrap reads it: apt verifies every list and package by its signature."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path

from chaoskit.base.errors import BadInput

_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_CHOSEN = re.compile(r"^Inst (?P<name>\S+) \((?P<version>\S+) ", re.MULTILINE)
"""What apt says of a package that it would install."""


def bootstrap(release: str, packages: Collection[str], target: Path) -> None:
    """Make a root file system of a release of Debian with some packages.

    Raises:
        BadInput: it cannot be made; names the remedy.
    """
    _mmdebstrap("--quiet", release, packages, target)


def newest(release: str, package: str) -> str:
    """Return the upstream version of a package that a release of Debian has now; takes about 15 s.

    Raises:
        BadInput: it cannot be read, or has no such package.
    """
    with tempfile.TemporaryDirectory() as scratch:
        simulated = _mmdebstrap("--simulate", release, [package], Path(scratch, "root"), "--verbose")
    versions = {match["name"]: match["version"] for match in _CHOSEN.finditer(simulated.stdout + simulated.stderr)}
    if package not in versions:
        raise BadInput(f"cluster.version: latest: Debian {release} has no package {package}; write a release")
    return upstream(versions[package])


def upstream(version: str) -> str:
    """Return the upstream version of a package's version.

    >>> upstream("4.3.6-1"), upstream("1:2.0.11-1+deb12u1")
    ('4.3.6', '2.0.11')
    """
    return (version.partition(":")[2] or version).partition("-")[0]


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    """Return what a program printed.

    Raises:
        BadInput: it failed; has the last errors.
    """
    done = subprocess.run(argv, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W:"))]
        raise BadInput(f"{argv[0]} failed: {'; '.join(errors[-3:]) or done.stderr.strip()[-300:]}")
    return done


def _mmdebstrap(
    how: str, release: str, packages: Collection[str], target: Path, *more: str
) -> subprocess.CompletedProcess[str]:
    if shutil.which("mmdebstrap") is None or not Path(_KEYS).exists():
        raise BadInput(f"the hosts need a root of Debian {release}: apt-get install mmdebstrap debian-archive-keyring")
    if os.geteuid() != 0:
        raise BadInput(f"making a root of Debian {release} requires root: run with sudo")
    # The current date of a test machine may lie after that of the last signed list of an unstable release.
    late = "--aptopt=Acquire::Check-Valid-Until false"
    wanted = f"--include={','.join(packages)}"
    options = [how, *more, "--mode=root", "--variant=minbase", late, f"--keyring={_KEYS}", wanted]
    return run("mmdebstrap", *options, release, str(target))
