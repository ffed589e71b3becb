"""Java on the hosts of a lab: how to run programs, and which version is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from chaoskit.base.errors import BadInput

PRODUCTION = "production"
"""Among JVM options: the flags and the heap that the system's own start scripts use, instead of those of a small lab.
"""

_SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Starts fast and needs little memory; the code stays several times slower than with both compilers."""


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _checked(given: list[str]) -> list[str]:
    for option in given:
        if option != PRODUCTION and not option.startswith("-"):
            raise ValueError(f"{option!r} is no option of a JVM; write {PRODUCTION}, or options such as -Xlog:gc")
    return given


Jvm = Annotated[list[str], BeforeValidator(_listed), AfterValidator(_checked)]
"""`production`, further JVM options, or both."""


def program() -> str:
    """Return the program `java`."""
    return shutil.which("java") or "java"


def java(classpath: str) -> list[str]:
    """Return the command that runs a short Java program, such as a tool."""
    return [program(), "-cp", classpath, *_SMALL]


def server(classpath: str, jvm: Sequence[str], production: Sequence[str]) -> list[str]:
    """Return the command that runs a server.

    Args:
        classpath: its class path.
        jvm: JVM options as a scenario declares them.
        production: the flags of the system's own start scripts.
    """
    flags = production if PRODUCTION in jvm else _SMALL
    further = [option for option in jvm if option != PRODUCTION]
    return [program(), "-cp", classpath, *flags, *further]


def check_java(needed: int, release: str) -> None:
    """Check that Java is new enough for a release.

    Raises:
        BadInput: it is not; names the remedy.
    """
    version = java_version()
    if version < needed:
        seen = f"Java {version} is installed" if version else "there is no Java"
        raise BadInput(f"{release} needs Java {needed}, but {seen}: apt-get install default-jre-headless")


def java_version() -> int:
    """Return the major version of `java` on PATH; 0 if there is none."""
    path = shutil.which("java")
    return _version_of(path) if path else 0


@cache
def _version_of(path: str) -> int:
    banner = subprocess.run([path, "-version"], text=True, capture_output=True, check=False).stderr
    parts = banner.partition('"')[2].split(".")
    major = parts[1] if parts[0] == "1" else parts[0]
    digits = major.partition('"')[0].partition("-")[0]
    return int(digits) if digits.isdigit() else 0
