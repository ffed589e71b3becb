"""Kafka's jars, from the Maven repository by version number, into a verified cache.

Maven checks each download against the repository's checksums (strictly); a manifest of SHA-256
digests, written once and named into the cache folder, checks every later use.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from chaoskit.errors import BadInput
from chaoskit.state import cache_folder

VERSION_MIN = (3, 0)
"""First release whose KRaft can be tested (production ready since 3.3). That of 2.8 is an early preview: it
gives no producer ids, and with several nodes its raft thread dies of the first registration it fetches."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_LOGGING = {
    True: [
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.2"),
        ("org.apache.logging.log4j", "log4j-core", "2.25.2"),
    ],
    False: [("org.slf4j", "slf4j-reload4j", "1.7.36")],
}
_RUNTIME = ["-DincludeScope=runtime"]
_MANIFEST = "SHA256SUMS"


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is not one, or it is older than KRaft.
    """
    parts = version.split(".")
    if not all(part.isdigit() for part in parts) or len(parts) not in (2, 3):
        raise BadInput(f"cluster.version: {version!r} is not a release of Kafka; write one such as 4.1.1")
    numbers = tuple(int(part) for part in parts)
    if numbers < VERSION_MIN:
        raise BadInput(f"cluster.version: Kafka {version} has no KRaft, or only a preview; chaoskit runs 3.0 and later")
    return numbers


def fetch(version: str) -> Path:
    """Return the folder with Kafka's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    return _fetch("kafka", "kafka_2.13", version)


def fetch_tools(version: str) -> Path:
    """Return the folder with the jars of Kafka's command line tools; as `fetch`."""
    return _fetch("kafka-tools", "kafka-tools", version)


def _fetch(name: str, artifact: str, version: str) -> Path:
    parse_version(version)
    folder = cache_folder() / f"{name}-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _MANIFEST).exists():
            _download(artifact, version, folder)
        _verify(folder)
    return folder


def _download(artifact: str, version: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise BadInput("Maven is not installed, and Kafka's jars are not in the cache: apt-get install maven")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        pom = Path(scratch, "pom.xml")
        pom.write_text(_pom(artifact, version))
        target = Path(scratch, "jars")
        done = subprocess.run(
            [maven, "-q", "-B", "--strict-checksums", "-f", str(pom), _COPY, f"-DoutputDirectory={target}", *_RUNTIME],
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0 or not target.exists():
            raise BadInput(_explain(artifact, version, done.stdout + done.stderr))
        lines = [f"{_digest(jar)}  {jar.name}\n" for jar in sorted(target.glob("*.jar"))]
        (target / _MANIFEST).write_text("".join(lines))
        shutil.rmtree(folder, ignore_errors=True)
        target.rename(folder)


def _explain(artifact: str, version: str, output: str) -> str:
    if f"{artifact}:jar:{version}" in output or f"{artifact}:pom:{version}" in output:
        return (
            f"cluster.version: there is no Kafka {version}, or it cannot be downloaded now; "
            "released ones are listed on kafka.apache.org/downloads"
        )
    errors = [line for line in output.splitlines() if "ERROR" in line]
    return "Kafka's jars could not be downloaded: " + "\n".join(errors[:3] or [output[-500:]])


def _verify(folder: Path) -> None:
    for line in (folder / _MANIFEST).read_text().splitlines():
        digest, name = line.split("  ")
        jar = folder / name
        if not jar.exists() or _digest(jar) != digest:
            raise BadInput(f"{jar} is not what was downloaded; remove {folder} and run again")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pom(artifact: str, version: str) -> str:
    wanted = [("org.apache.kafka", artifact, version), *_LOGGING[parse_version(version) >= (4,)]]
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{release}</version></dependency>"
        for group, artifact, release in wanted
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>chaoskit</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
