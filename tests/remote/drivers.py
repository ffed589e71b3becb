"""chaoskit as a team installs it on a driver: from a wheel, beside a Python of Debian's."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from remote.machines import Machines

PACKAGES = ("python3-minimal", "python3")
PYTHON = "/opt/driver/python"
_THEIR_PYTHON = "3.13"
_PROJECT = Path(__file__).parents[2]
_NEEDED = (
    "annotated-types", "bcrypt", "cffi", "confluent-kafka", "cryptography", "decorator", "deprecated", "fabric",
    "google-crc32c", "hdrhistogram", "invoke", "numpy", "paramiko", "psutil", "pyarrow", "pydantic", "pydantic-core",
    "pynacl", "ruamel.yaml", "typing-extensions", "typing-inspection", "wrapt",
)  # fmt: skip
_RUN = '#!/bin/sh\nPYTHONPATH=/opt/driver/site exec python3 "$@"\n'


def install(machines: Machines, folder: Path) -> None:
    """Install chaoskit, with what its clients of Kafka need, on every driver as `PYTHON`.

    Args:
        machines: the machines.
        folder: for the packages.
    """
    site = folder / "site"
    if not site.exists():
        _fetch(folder, site)
    archive = subprocess.run(["tar", "-C", str(folder), "-c", "site"], check=True, capture_output=True).stdout
    for name in machines.drivers:
        machines.ssh(name, "sudo mkdir -p /opt/driver && sudo tar -C /opt/driver --no-same-owner -x", archive)
        machines.put(name, PYTHON, _RUN)
        machines.ssh(name, f"sudo chmod +x {PYTHON}")


def _fetch(folder: Path, site: Path) -> None:
    pip = [sys.executable, "-m", "pip"]
    wheel = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(_PROJECT)]
    subprocess.run(wheel, check=True, env={**os.environ, "CHAOSKIT_PURE": "1"})
    pinned = [f"{name}=={version(name)}" for name in _NEEDED]
    target = ["--target", str(site), "--python-version", _THEIR_PYTHON, "--only-binary=:all:", "--no-deps"]
    subprocess.run([*pip, "install", "-q", *target, *pinned, *map(str, folder.glob("*.whl"))], check=True)
