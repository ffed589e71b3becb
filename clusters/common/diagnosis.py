"""Findings of `chaoskit doctor` about what several systems need."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from chaoskit.base.installing import with_extra
from chaoskit.contract.hosts.capability import Capability
from clusters.common import maven
from clusters.common.java import java_version


def java_and_jars(system: str, java_min: int, release: str) -> list[Capability]:
    """Return whether this machine can run and download a system.

    Args:
        system: its name; in lower case, the prefix of its folders in the cache.
        java_min: minimum major version of Java.
        release: the release that needs this Java version.
    """
    java, cached = java_version(), maven.cached(system.lower())
    return [
        Capability(
            f"Java for {release}",
            java >= java_min,
            f"Java {java}" if java else "no Java",
            "" if java >= java_min else "apt-get install default-jre-headless",
        ),
        Capability(
            f"Maven, to download {system}",
            bool(shutil.which("mvn") or cached),
            f"cached: {', '.join(cached) or 'nothing'}",
            "apt-get install maven",
        ),
    ]


def packages(purpose: str, extra: str, names: Sequence[str]) -> Capability:
    """Return whether the Python packages of an extra are installed.

    Args:
        purpose: what they are for.
        extra: its name.
        names: its packages.
    """
    versions: dict[str, str] = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    missing = [name for name in names if name not in versions]
    installed = ", ".join(f"{name} {number}" for name, number in versions.items())
    detail = f"no {', '.join(missing)}" if missing else installed
    return Capability(f"{purpose} (extra {extra})", not missing, detail, with_extra(extra), required=False)


def debian_roots(system: str) -> Capability:
    """Return whether this machine can make the root file systems in which a system's packages are installed."""
    installed = shutil.which("mmdebstrap") is not None
    remedy = "" if installed else "apt-get install mmdebstrap debian-archive-keyring"
    return Capability(f"roots of other Debian releases ({system})", installed, "mmdebstrap", remedy, required=False)
