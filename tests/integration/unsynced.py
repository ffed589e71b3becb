"""Writes that come until a power cut, none of them synced: a sync by somebody else saves all but the last ones."""

from __future__ import annotations

from typing import Any

from chaoskit.base.waiting import wait_until

NEW_FILES = "/data/unsynced-{}"
_WRITER = """
import itertools, sys, time
for number in itertools.count():
    with open(sys.argv[1].format(number), "a") as file:
        file.write(f"<{number}>")
    print(number, time.monotonic_ns(), flush=True)
    time.sleep(0.0005)
"""


def begin(host: Any, path: str = NEW_FILES) -> None:
    """Begin to append numbers to a file, or to files whose names have the number in place of `{}`."""
    host.spawn(_service(path), ["python3", "-c", _WRITER, path], {})
    assert wait_until(lambda: _written(host, path), 20)


def lost(host: Any, path: str = NEW_FILES) -> bool:
    """Return, after a boot, whether the last number that was written before the cut is gone."""
    last = _written(host, path)[-1]
    return f"<{last}>" not in host.run(["cat", path.format(last)], check=False).out


def last_ns(host: Any, path: str = NEW_FILES) -> int:
    """Return when the last number was written, CLOCK_MONOTONIC."""
    return int(_lines(host, path)[-1][1])


def _service(path: str) -> str:
    return f"writer{path.replace('/', '-').replace('{}', '')}"


def _written(host: Any, path: str) -> list[str]:
    return [number for number, _ in _lines(host, path)]


def _lines(host: Any, path: str) -> list[list[str]]:
    """Return the numbers that were written, and when."""
    lines: list[str] = host.run(["cat", host.log_path(_service(path))], check=False).out.splitlines()
    return [words for line in lines if len(words := line.split()) == 2 and "".join(words).isdigit()]
