"""Programs as another user: one who owns nothing, and may read only what others may."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
NOBODY = 65534
BECOME = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become nobody (setpriv, util-linux)"
)


def chaoskit(prefix: list[str], *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program, by a command such as `BECOME`; it must end by itself."""
    return subprocess.run(
        [*prefix, *PROGRAM, *arguments],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=300,
    )


def skip_unless_reachable() -> None:
    """Skip a test if nobody cannot run this Python at all."""
    if chaoskit(BECOME, "--version").returncode:
        pytest.skip("nobody cannot read this Python or this checkout")


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that others may enter and read: pytest closes its own to them, again and again."""
    with tempfile.TemporaryDirectory(prefix="chaoskit-open-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
