"""Downloads the jars of a release and their dependencies from the Maven repository into a verified cache.

Maven verifies each download against the repository's checksums (strictly). A manifest of SHA-256
digests, written once into the cache folder, is verified at the first use by each process, and again if a file changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoskit.base.downloads import about_to_download, one_at_a_time
from chaoskit.base.errors import BadInput
from chaoskit.base.state import cache_folder
from clusters.common.release import numbers_of

Coordinates = tuple[str, str, str]
"""Group, artifact and version in the Maven repository."""

DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
"""The plugin of Maven that downloads."""

_RUNTIME = ["-DincludeScope=runtime"]
_MANIFEST = "SHA256SUMS"

_VERIFIED: dict[Path, list[tuple[str, int, int, int]]] = {}
"""What this process has verified: names, sizes, times of modification and numbers of the files in each folder."""

_ABSENT = re.compile(r"Could not find artifact|was not found in \S+ during a previous attempt|status code: 404")
"""What Maven says if the repository answered that it does not have a file."""

_UNREACHED = re.compile(
    r"Unknown host|Connection refused|[Tt]imed out|Network is unreachable|No route to host|UnknownHostException"
    r"|Temporary failure in name resolution|Could not transfer artifact|in offline mode"
)
"""What Maven says if no repository answered, or not with a file."""


@dataclass(frozen=True, slots=True)
class Release:
    """What to download for a release.

    Attributes:
        system: its name in error messages, such as `Kafka`.
        folder: name of its folder in the cache.
        main: the artifact whose version the user specified.
        others: further artifacts that it needs.
        listing: URL of the list of releases.
        parent: the POM that determines versions of dependencies if these are ranges or conflict; None: Maven decides.
    """

    system: str
    folder: str
    main: Coordinates
    others: Sequence[Coordinates]
    listing: str
    parent: Coordinates | None = None


def fetch(release: Release) -> Path:
    """Return the folder with the jars of a release and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    folder = cache_folder() / release.folder
    with one_at_a_time(folder, f"{release.system} ({release.folder})"):
        if not (folder / _MANIFEST).exists():
            _download(release, folder)
        _verify(folder)
    return folder


def is_fetched(folder: str) -> bool:
    """Return whether the jars of a release are in the cache, and may be read; `folder` as in `Release`."""
    return os.access(cache_folder() / folder / _MANIFEST, os.R_OK)


def release_number(system: str, version: str, example: str, minimum: tuple[int, int]) -> tuple[int, ...]:
    """Return the three parts of a release number.

    Args:
        system: its name in error messages, such as `Pulsar`.
        version: as the user wrote it.
        example: example of a release number, for error messages.
        minimum: first supported release.

    Raises:
        BadInput: it is not a release number, or it is older than the first supported release.
    """
    numbers = numbers_of(system, version, f"write for example {example}")
    if numbers < minimum:
        raise BadInput(f"cluster.version: {version} is too old; chaoskit supports {system} {minimum[0]}.{minimum[1]}+")
    return numbers


def cached(prefix: str) -> list[str]:
    """Return the names of the cache folders that have a release of a system, which their names begin with."""
    return sorted(folder.name for folder in cache_folder().glob(f"{prefix}-[0-9]*") if folder.is_dir())


def mvn(absent: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what Maven printed; `absent`: what to say if it is not installed, which is then a `BadInput`."""
    maven = shutil.which("mvn")
    if maven is None:
        raise BadInput(absent)
    return subprocess.run([maven, "-q", "-B", *arguments], text=True, capture_output=True, check=False)


def _download(release: Release, folder: Path) -> None:
    about_to_download(f"{release.system} {release.main[2]} ({release.main[1]}) from Maven Central")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        pom = Path(scratch, "pom.xml")
        pom.write_text(_pom(release))
        target = Path(scratch, "jars")
        copy = [f"{DEPENDENCIES}:copy-dependencies", f"-DoutputDirectory={target}", *_RUNTIME]
        absent = f"{release.system}'s jars are not in the cache, and Maven is not installed: apt-get install maven"
        done = mvn(absent, "--strict-checksums", "-f", str(pom), *copy)
        if done.returncode != 0 or not target.exists():
            raise BadInput(explain(release, done.stdout + done.stderr))
        lines = [f"{_digest(jar)}  {jar.name}\n" for jar in sorted(target.glob("*.jar"))]
        (target / _MANIFEST).write_text("".join(lines))
        shutil.rmtree(folder, ignore_errors=True)
        target.rename(folder)


def explain(release: Release, output: str) -> str:
    """Return why Maven, which wrote this output, did not download a release."""
    _, artifact, version = release.main
    needed = [f"{artifact}:jar:{version}", f"{artifact}:pom:{version}"]
    needed += [":".join((*release.parent[:2], "pom", release.parent[2]))] if release.parent else []
    named = any(name in output for name in needed)
    if named and _ABSENT.search(output):
        here = [name.partition("-")[2] for name in cached(release.system.lower())]
        near = [candidate for candidate in here if candidate.startswith(f"{version}.")] or here
        remedy = f"try {', '.join(near)}, which this machine has; " if near else ""
        missing = f"cluster.version: there is no {release.system} {version}"
        return f"{missing}; {remedy}for a list of releases, see {release.listing}"
    if _UNREACHED.search(output):
        return (
            f"{release.system} {version} is not in the cache and cannot be downloaded: the Maven repository does not "
            f"answer; check the network, and ~/.m2/settings.xml if there is a proxy: {_cause(output)}"
        )
    errors = [line for line in output.splitlines() if "ERROR" in line]
    return f"{release.system}'s jars could not be downloaded: " + "\n".join(errors[:3] or [output[-500:]])


def _cause(output: str) -> str:
    """Return the innermost cause in the first error."""
    first = next((line for line in output.splitlines() if "ERROR" in line), output)
    return first.partition(" -> ")[0].rpartition(": ")[2]


def _verify(folder: Path) -> None:
    stamps = [(path.name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for path, stat in _stats(folder)]
    if _VERIFIED.get(folder) == stamps:
        return
    for line in (folder / _MANIFEST).read_text().splitlines():
        digest, name = line.split("  ")
        jar = folder / name
        if not jar.exists() or _digest(jar) != digest:
            raise BadInput(f"{jar} was modified after the download; remove {folder} and run again")
    _VERIFIED[folder] = stamps


def _stats(folder: Path) -> list[tuple[Path, os.stat_result]]:
    return [(path, path.stat()) for path in sorted(folder.iterdir())]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pom(release: Release) -> str:
    wanted = "".join(_dependency(artifact) for artifact in (release.main, *release.others))
    managed = _dependency(release.parent, "<type>pom</type><scope>import</scope>") if release.parent else ""
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>chaoskit</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>"
        f"<dependencies>{wanted}</dependencies></project>"
    )


def _dependency(coordinates: Coordinates, more: str = "") -> str:
    group, artifact, version = coordinates
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{more}"
        "</dependency>"
    )
