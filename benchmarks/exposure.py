"""How fast the messages of a run are found in the recording of a disk.

python -m benchmarks.exposure [GiB]
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from chaoskit.model import payload
from clusters.hosts.disk.layout import BASE, END, LOG
from clusters.hosts.disk.oplog import Kind, OperationLog
from clusters.hosts.disk.stored import stored

_RUN = 0x5A17C0DE5A17C0DE
_DISK = 4 * 2**30
_PAGE = 4096
_SHAPES = {
    "100 B, written back in requests of 128 KiB": (100, 128 * 2**10, 64),
    "100 B, its page written and synced for each message": (100, _PAGE, 1),
    "1 KiB, written back in requests of 128 KiB": (1024, 128 * 2**10, 64),
    "100 KiB, synced for each message": (100 * 2**10, 128 * 2**10, 1),
}
"""Size of a message, of a write, and writes for each flush."""

_MAGIC = b"\xc0\x3b\x39\x98\0\0\0"
_COMMIT = [
    (_DISK - 3 * _PAGE, (_MAGIC + b"\1").ljust(2 * _PAGE, b"\0")),
    (_DISK - _PAGE, (_MAGIC + b"\2").ljust(_PAGE, b"\0")),
]
"""What the journal of ext4 writes for an fsync; a flush follows each."""


def _log(size: int, request: int, flush_every: int, wanted: int) -> Iterator[tuple[int, bytes] | None]:
    """Yield the writes of an append-only file (offset and content), and None for an fsync, up to so many bytes.

    If a request is smaller than many messages, its page is written again for each, as a tail page is.
    """
    writer = payload.Writer(_RUN, size)
    whole = bytearray()
    written = value = offset = 0
    again = request == _PAGE
    for number in range(wanted // request):
        while len(whole) < request and not again:
            whole += os.urandom(20) + writer.build(value, 1, 1)
            value += 1
        if again:
            if len(whole) + size + 20 > request:
                offset, whole = (offset + request) % (_DISK // 2), bytearray()
            whole += os.urandom(20) + writer.build(value, 1, 1)
            value += 1
            yield offset, bytes(whole).ljust(request, b"\0")
        else:
            yield offset, bytes(whole[:request])
            del whole[:request]
            offset = (offset + request) % (_DISK // 2)
        written += request
        if number % flush_every == flush_every - 1:
            yield None


def main(gibibytes: float) -> None:
    """Print, for each shape of a log, the time that its search takes, as a table."""
    print(
        "| log | messages | operations | processor s | s/GB | messages/s | memory, MiB |\n|---|---|---|---|---|---|---|"
    )
    for shape, (size, request, flush_every) in _SHAPES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with (folder / BASE).open("wb") as base:
                base.truncate(_DISK)
            log, operations = OperationLog(folder / LOG), 0
            for step in _log(size, request, flush_every, int(gibibytes * 2**30)):
                for offset, content in _COMMIT if step is None else [step]:
                    log.write(offset, content)
                    operations += 1
                    if step is None:
                        log.mark(Kind.FLUSH)
            length = (folder / LOG).stat().st_size
            (folder / END).write_text(json.dumps({"at_ns": 2**61, "synced": True, "length": length}))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            began = time.process_time()
            values = len(stored(folder, _RUN, size).values)
            took = time.process_time() - began
            memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"| {shape} | {values:,} | {operations:,} | {took:.1f} | {took / (length / 1e9):.1f} | "
                f"{values / took:,.0f} | {memory:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
