"""Java on the hosts of a lab: how to run programs, and which version is installed."""

from __future__ import annotations

import shutil
import subprocess

from chaoskit.base.errors import BadInput


def java(classpath: str) -> list[str]:
    """Return the command that runs a Java program on a small host."""
    return [
        shutil.which("java") or "java",
        "-cp",
        classpath,
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
    ]


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
    if path is None:
        return 0
    banner = subprocess.run([path, "-version"], text=True, capture_output=True, check=False).stderr
    parts = banner.partition('"')[2].split(".")
    major = parts[1] if parts[0] == "1" else parts[0]
    digits = major.partition('"')[0].partition("-")[0]
    return int(digits) if digits.isdigit() else 0
