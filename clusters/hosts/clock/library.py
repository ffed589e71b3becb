"""The preloaded library, compiled on this machine."""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.base.state import cache_folder

_SOURCE = Path(__file__).with_name("preload.c")


@functools.cache
def clock_library() -> bytes:
    """Return the shared library, compiled once per version of its source.

    Raises:
        BadInput: there is no C compiler.
    """
    source = _SOURCE.read_bytes()
    library = cache_folder() / f"clock-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if not library.exists():
        if shutil.which("gcc") is None:
            raise BadInput("clock faults need a C compiler: apt-get install gcc libc6-dev")
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            built = Path(folder, "clock.so")
            argv = ["gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(built), str(_SOURCE), "-ldl"]
            done = subprocess.run(argv, text=True, capture_output=True, check=False)
            if done.returncode != 0:
                raise BadInput(f"gcc cannot compile {_SOURCE}: {done.stderr.strip()}; apt-get install gcc libc6-dev")
            built.rename(library)
    return library.read_bytes()
