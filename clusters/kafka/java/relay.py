"""The JVM with one of Kafka's own clients; `Relay.java` is its other end.

It is compiled once for each release of Kafka, by the Eclipse compiler, so that no JDK is needed. Frames are big-endian;
texts are short and in Java's modified UTF-8, which is UTF-8 for what Kafka names.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.base.state import cache_folder
from clusters.common import java, maven, properties
from clusters.kafka import artifacts

_SOURCE = Path(__file__).with_name("Relay.java")
_COMPILER = maven.Release(
    "the Eclipse compiler", "ecj-3.33.0", ("org.eclipse.jdt", "ecj", "3.33.0"), (), "the Maven repository"
)
_COMPILE, _RELEASE = "org.eclipse.jdt.internal.compiler.batch.Main", "11"
_JVM = ("-Xms256m", "-Xmx512m", "-XX:+UseG1GC", "-Djava.awt.headless=true")
_CHECK_TIMEOUT_S = 60


def classpath(version: str) -> str:
    """Return the class path of the relay with the clients of a release, compiling it at most once.

    Raises:
        BadInput: there is no such release, or no Java.
    """
    jars = artifacts.fetch_clients(version)
    source = _SOURCE.read_bytes()
    folder = cache_folder() / f"kafka-relay-{version}-{hashlib.sha256(source).hexdigest()[:16]}"
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _compile(jars, folder)
    return f"{folder}:{jars}/*"


def refusals(path: str, role: str, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what Kafka's client refuses of settings: names that it does not know, and, without a name, what else is
    wrong, in its words.

    Args:
        path: class path of the relay.
        role: `producer` or `consumer`.
        settings: all settings of the client.
    """
    command = [*java.java(path), "Relay", f"check-{role}"]
    done = subprocess.run(command, input=_packed(settings), capture_output=True, timeout=_CHECK_TIMEOUT_S, check=False)
    if done.returncode:
        raise BadInput(f"Kafka's Java client does not start: {done.stderr.decode(errors='replace')[-300:]}")
    found = [line.partition("\t") for line in done.stdout.decode().splitlines()]
    return [(name, cause) for name, _, cause in found]


def start(path: str, role: str, settings: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a client; it ends when its standard input closes.

    Args:
        path: class path of the relay.
        role: `producer` or `consumer`.
        settings: all settings of the client.
    """
    process = subprocess.Popen(
        [java.program(), "-cp", path, *_JVM, "Relay", role], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    process.stdin.write(_packed(settings))
    return process


def text(value: str) -> bytes:
    """Return a text as a frame has it."""
    content = value.encode()
    return struct.pack(">H", len(content)) + content


def places(partitions: Sequence[tuple[str, int]]) -> bytes:
    """Return topics and numbers of partitions as a frame has them."""
    return struct.pack(">i", len(partitions)) + b"".join(
        text(topic) + struct.pack(">i", number) for topic, number in partitions
    )


def _packed(settings: Mapping[str, Any]) -> bytes:
    told = b"".join(text(name) + text(properties.text(value)) for name, value in settings.items())
    return struct.pack(">i", len(settings)) + told


def _compile(jars: Path, folder: Path) -> None:
    compiler = maven.fetch(_COMPILER)
    scratch = folder.parent / f"{folder.name}.new"
    shutil.rmtree(scratch, ignore_errors=True)
    eclipse, classes = next(compiler.glob("ecj-*.jar")), ":".join(map(str, sorted(jars.glob("*.jar"))))
    options = [f"-{_RELEASE}", "-proc:none", "-classpath", classes, "-d", str(scratch)]
    done = subprocess.run(
        [*java.java(str(eclipse)), _COMPILE, *options, str(_SOURCE)], text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise BadInput(f"{_SOURCE.name} does not compile: {(done.stdout + done.stderr)[-500:]}")
    scratch.rename(folder)
