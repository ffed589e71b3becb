"""Downloads, which a dry run tells instead of making them.

Whoever downloads something calls `about_to_download` right before.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from chaoskit.base.errors import WouldDownload

_listed: ContextVar[list[str] | None] = ContextVar("told", default=None)


@contextmanager
def told_only() -> Iterator[list[str]]:
    """Download nothing in this block; yield a list that receives what would have been downloaded, in words."""
    downloads: list[str] = []
    token = _listed.set(downloads)
    try:
        yield downloads
    finally:
        _listed.reset(token)


def about_to_download(what: str) -> None:
    """Tell a download, such as `NAME 4.1.1 from Maven Central`, before it is made.

    Raises:
        WouldDownload: it must not be made; `chaoskit.base.errors.Problems` goes on with the next check.
    """
    downloads = _listed.get()
    if downloads is not None:
        if what not in downloads:
            downloads.append(what)
        raise WouldDownload(f"{what} is not downloaded in a dry run")


@contextmanager
def one_at_a_time(folder: Path, what: str) -> Iterator[None]:
    """Keep other processes from making the same folder of the cache; wait for one that does, but not in a dry run.

    Args:
        folder: the folder; the file that is locked is beside it.
        what: what is in it: a system and its release.

    Raises:
        WouldDownload: this is a dry run, and another process is making it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _listed.get() is not None:
                about_to_download(f"{what}, which another process is making now")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
