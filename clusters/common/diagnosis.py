"""What `chaoskit doctor` says of a system that runs on Java and comes from Maven."""

from __future__ import annotations

import shutil

from chaoskit.contract.capability import Capability
from clusters.common import maven
from clusters.common.java import java_version


def java_and_jars(system: str, java_min: int, release: str) -> list[Capability]:
    """Return whether this machine can run and fetch a system.

    Args:
        system: its name; in lower case that of its folders in the cache.
        java_min: major version of the Java that it needs.
        release: what of it needs that.
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
            f"Maven, to fetch {system}",
            bool(shutil.which("mvn") or cached),
            f"cached: {', '.join(cached) or 'nothing'}",
            "apt-get install maven",
        ),
    ]
