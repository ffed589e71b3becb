"""Our own Java programs, compiled against the jars of a system's release by the Eclipse compiler, so that no JDK is
needed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from chaoskit.base.downloads import one_at_a_time
from chaoskit.base.errors import BadInput
from chaoskit.base.state import cache_folder
from clusters.common import maven
from clusters.common.java import java

_COMPILER = maven.Release(
    "the Eclipse compiler", "ecj-3.33.0", ("org.eclipse.jdt", "ecj", "3.33.0"), (), "the Maven repository"
)
_COMPILE, _RELEASE = "org.eclipse.jdt.internal.compiler.batch.Main", "11"


def compiled(name: str, what: str, sources: Sequence[Path], jars: Path) -> Path:
    """Return the folder with the classes of some programs, compiling them at most once.

    Args:
        name: how the folder in the cache begins; it has the release of the jars.
        what: what is compiled, such as `Kafka's Java client`.
        sources: the files.
        jars: the folder of the jars that they need.

    Raises:
        BadInput: there is no Java, or a file does not compile with these jars.
    """
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = cache_folder() / f"{name}-{digest}"
    with one_at_a_time(folder, what):
        if not folder.exists():
            _compile(sources, jars, folder)
    return folder


def _compile(sources: Sequence[Path], jars: Path, folder: Path) -> None:
    compiler = maven.fetch(_COMPILER)
    scratch = folder.parent / f"{folder.name}.new"
    shutil.rmtree(scratch, ignore_errors=True)
    eclipse, classes = next(compiler.glob("ecj-*.jar")), ":".join(map(str, sorted(jars.glob("*.jar"))))
    options = [f"-{_RELEASE}", "-proc:none", "-classpath", classes, "-d", str(scratch)]
    command = [*java(str(eclipse)), _COMPILE, *options, *map(str, sources)]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        raise BadInput(f"{sources[-1].parent} does not compile: {(done.stdout + done.stderr)[-500:]}")
    scratch.rename(folder)
