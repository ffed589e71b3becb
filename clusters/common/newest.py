"""The newest release of a system whose jars are in the Maven repository."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from chaoskit.base.errors import BadInput, WouldDownload
from clusters.common.maven import DEPENDENCIES, mvn

_WHERE = "org.apache.maven.plugins:maven-help-plugin:3.5.1:evaluate"

_STABLE = re.compile(r"\d+(\.\d+)+")
"""A release that is no milestone, release candidate or preview."""

_VERSION = re.compile(r"<version>(?P<number>[^<]+)</version>")
"""A release in the list, which is a file of XML."""

_TRIED = 5
"""So many releases are tried, if those before cannot be downloaded: a repository lists some that it does not serve."""


def newest(system: str, artifact: tuple[str, str], fetch: Callable[[str], object]) -> str:
    """Return the newest stable release that can be downloaded, and download it.

    Args:
        system: its name in error messages, such as `Kafka`.
        artifact: group and artifact in the Maven repository.
        fetch: downloads a release, unless it is in the cache.

    Raises:
        BadInput: the repository does not answer, or does not serve any of the newest releases.
    """
    refused: list[str] = []
    for version in listed(system, *artifact)[:_TRIED]:
        try:
            fetch(version)
        except WouldDownload:
            return version
        except BadInput as error:
            refused.append(str(error))
        else:
            return version
    raise BadInput(
        f"cluster.version: latest: none of the newest {len(refused)} releases of {system} can be downloaded; write "
        f"one that can: {refused[0] if refused else 'the list has no stable one'}"
    )


def listed(system: str, group: str, artifact: str) -> list[str]:
    """Return all stable releases that the Maven repository lists, the newest first; takes about 5 s.

    Raises:
        BadInput: Maven is not installed, or the repository does not answer.
    """
    absent = "cluster.version: latest: Maven is not installed: apt-get install maven, or write a release"
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch, "where")
        # Maven keeps the list when it looks for a release without a number, whether or not that one is served.
        pom = [f"-DgroupId={group}", f"-DartifactId={artifact}", "-Dversion=RELEASE", "-Dpackaging=pom"]
        repository = ["-Dexpression=settings.localRepository", f"-Doutput={where}"]
        done = mvn(absent, "-U", _WHERE, *repository, f"{DEPENDENCIES}:get", *pom, "-Dtransitive=false")
        folder = Path(where.read_text() if where.exists() else scratch, *group.split("."), artifact)
    versions = {version for path in folder.glob("maven-metadata-*.xml") for version in _versions(path)}
    if not versions:
        output = done.stdout + done.stderr
        errors = [line for line in output.splitlines() if "ERROR" in line]
        raise BadInput(
            f"cluster.version: latest: the Maven repository does not list the releases of {system}; check the network, "
            f"or write a release: {errors[0] if errors else output[-300:]}"
        )
    stable = [version for version in versions if _STABLE.fullmatch(version)]
    return sorted(stable, key=lambda version: [int(number) for number in version.split(".")], reverse=True)


def _versions(path: Path) -> list[str]:
    """Return the releases in a list that Maven has kept."""
    return _VERSION.findall(path.read_text())
