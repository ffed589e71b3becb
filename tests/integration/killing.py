"""A harness of its own process, which is to be killed while it holds a fault; see nemeses/harness.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEAD_MAN_S = 10.0
"""A heartbeat over SSH may take seconds on a busy machine."""

_HARNESS = Path(__file__).parent / "nemeses" / "harness.py"


def start_harness(kind: str, hosts: Sequence[Any], **parameters: str) -> subprocess.Popen[str]:
    """Start one that holds a fault on the first of the hosts; it prints `held` once it does."""
    named = [f"{host.name}={host.address}={host.address6}" for host in hosts]
    key = str(hosts[0]._key_file)
    given = [f"{name}={value}" for name, value in parameters.items()]
    return subprocess.Popen(
        [sys.executable, str(_HARNESS), kind, key, str(DEAD_MAN_S), ",".join(named), *given],
        stdout=subprocess.PIPE,
        text=True,
    )
