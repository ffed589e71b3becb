"""The JVM with one client of a system; `Relay.java` is its other end.

The Java programs are compiled once for each release of a system; see `clusters.common.javac`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from chaoskit.base.errors import BadInput, guessed
from clusters.common import java
from clusters.common.javac import compiled
from clusters.common.relay import frames

_SHARED = Path(__file__).parent
_JVM = (
    "-Xms256m",
    "-Xmx512m",
    "-XX:+UseG1GC",
    "-XX:-UsePerfData",  # its file in /tmp has the number of the process, which is not the only one on several seats
    "-Djava.awt.headless=true",
    "--add-opens=java.base/java.io=ALL-UNNAMED",  # Relay.java opens a descriptor by its number
)
_CHECK_TIMEOUT_S = 60

QUEUES = "queues"
"""The role of a consumer of queues."""


@dataclass(frozen=True, slots=True)
class Jvm:
    """The JVM of a client.

    Attributes:
        requests: what it reads.
        answers: what it writes.
        process: its process.
    """

    requests: IO[bytes]
    answers: IO[bytes]
    process: subprocess.Popen[bytes]

    def close(self) -> None:
        """End it, whatever it does."""
        self.requests.close()
        self.answers.close()
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings of clients, to be checked.

    Attributes:
        role: a role that the program can check, such as `producer`.
        key: where the scenario has them.
        given: the scenario's.
        settings: all of them.
        ours: names that only chaoskit sets.
    """

    role: str
    key: str
    given: Mapping[str, Any]
    settings: Mapping[str, Any]
    ours: Collection[str]


@dataclass(frozen=True, slots=True)
class Relay:
    """The Java program that runs a system's own clients.

    Attributes:
        system: its name in errors.
        source: the file with the class that has `main`, of the same name; its folder has the others.
        fetch: returns the folder of the jars of a release; see `clusters.common.maven.fetch`.
        jvm: further options of the JVM.
    """

    system: str
    source: Path
    fetch: Callable[[str], Path]
    jvm: tuple[str, ...] = ()

    def classpath(self, version: str) -> str:
        """Return the class path of the program with the clients of a release, downloading and compiling it at most
        once.

        Raises:
            BadInput: there is no such release, no Java, or the program does not compile with it.
        """
        return _classpath(self, version)

    def start(self, path: str, role: str, settings: Mapping[str, Any]) -> Jvm:
        """Start a client; it ends when its standard input closes.

        Args:
            path: class path of the program.
            role: `producer`, `transactional`, `consumer` or `QUEUES`.
            settings: all settings of the client.
        """
        answers, theirs = os.pipe()
        command = [java.program(), "-cp", path, *_JVM, *self.jvm, self.source.stem, role, str(theirs)]
        try:
            # Frames have a descriptor of their own: whatever a JVM or a library prints goes to the client's log.
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=2, pass_fds=[theirs], bufsize=0)
        except OSError:
            os.close(answers)
            raise
        finally:
            os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(frames.settings(settings))
        return Jvm(process.stdin, os.fdopen(answers, "rb", buffering=0), process)

    def refusals(self, path: str, chosen: Chosen, similar: Collection[str]) -> list[BadInput]:
        """Return what chaoskit or the client refuses of settings.

        Args:
            path: class path of the program.
            chosen: the settings.
            similar: some names that there are.

        Raises:
            BadInput: the client does not start.
        """
        command = [*java.java(path), *self.jvm, self.source.stem, f"check-{chosen.role}"]
        packed = frames.settings(chosen.settings)
        done = subprocess.run(command, input=packed, capture_output=True, timeout=_CHECK_TIMEOUT_S, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace")[-300:]
            raise BadInput(f"{self.system}'s Java client does not start: {said}")
        taken = [name for name in chosen.ours if name in chosen.given]
        refused = [line.partition("\t") for line in done.stdout.decode().splitlines()]
        return [
            *(BadInput(f"{chosen.key}.{name}: chaoskit sets it itself; remove it") for name in taken),
            *(self._refusal(chosen.key, name, cause, similar) for name, _, cause in refused),
        ]

    def _refusal(self, key: str, name: str, cause: str, similar: Collection[str]) -> BadInput:
        where = f"{key}.{name}" if name else key
        if cause:
            return BadInput(f"{where}: rejected by {self.system}'s client: {cause}")
        guess = guessed(name, tuple(similar))
        return BadInput(f"{where}: {self.system}'s client has no such property{f'; {guess}' if guess else ''}")


@cache
def _classpath(relay: Relay, version: str) -> str:
    jars = relay.fetch(version)
    sources = [*sorted(_SHARED.glob("*.java")), *sorted(relay.source.parent.glob("*.java"))]
    name, what = f"{relay.system.lower()}-relay-{version}", f"{relay.system}'s Java client"
    return f"{compiled(name, what, sources, jars)}:{jars}/*"
