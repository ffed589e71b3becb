"""Data disks of local hosts: how fast they are, and what a store without fsync loses on the programmable one.

Prints Markdown.

    sudo .venv/bin/python benchmarks/disk.py speed
    sudo .venv/bin/python benchmarks/disk.py seeds [COUNT]
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.disk import DATA, CutMode, ProgrammableDisk
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.run.warden import watched
from clusters.hosts.lab import LocalOptions, LocalProvider

_RECORDS = 40
_WRITTEN, _SYNCED, _LYING = _STORES = ("written, not flushed", "fsync", "fsync, the flush lies")
_HOSTS = 2

_SPEED = """
import json, os, time
def rate(act, seconds=2):
    began, count = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        act(); count += 1
    return count / (time.monotonic() - began)
log = os.open("/data/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
def append():
    os.write(log, b"x" * 100); os.fsync(log)
fixed = os.open("/data/fixed", os.O_CREAT | os.O_WRONLY)
os.write(fixed, bytes(1 << 20)); os.fsync(fixed)
def overwrite():
    os.pwrite(fixed, b"x" * 100, 0); os.fdatasync(fixed)
figures = {"append + fsync /s": rate(append), "overwrite + fdatasync /s": rate(overwrite)}
big, block = os.open("/data/big", os.O_CREAT | os.O_RDWR), os.urandom(1 << 20)
began = time.monotonic()
for _ in range(512): os.write(big, block)
os.fsync(big)
figures["write MB/s"] = 512 * 1.048576 / (time.monotonic() - began)
os.posix_fadvise(big, 0, 0, os.POSIX_FADV_DONTNEED); os.lseek(big, 0, 0)
began = time.monotonic()
while os.read(big, 1 << 20): pass
figures["read MB/s"] = 512 * 1.048576 / (time.monotonic() - began)
print(json.dumps(figures))
"""

_STORE = """
import ctypes, os, random, struct, sys, zlib
records, seed, fsync = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "fsync"
store = os.open("/data/store", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
os.write(store, bytes(1 << 20)); os.system("sync --file-system /data"); os.lseek(store, 0, 0)
draw, write_back = random.Random(seed), ctypes.CDLL(None).sync_file_range
for number in range(1, records + 1):
    body = draw.randbytes(draw.randint(50, 6000))
    os.write(store, struct.pack("<III", number, len(body), zlib.crc32(body)) + body)
    # Written back by the kernel in both cases; only fsync also makes the disk flush its cache.
    os.fsync(store) if fsync else write_back(store, ctypes.c_long(0), ctypes.c_long(0), 7)
print(records)
"""

_AUDIT = """
import json, random, struct, sys, zlib
records, seed = int(sys.argv[1]), int(sys.argv[2])
draw, state = random.Random(seed), []
with open("/data/store", "rb") as store:
    for number in range(1, records + 1):
        body = draw.randbytes(draw.randint(50, 6000))
        whole = struct.pack("<III", number, len(body), zlib.crc32(body)) + body
        found = store.read(len(whole))
        state.append("kept" if found == whole else "corrupt" if found.strip(b"\\0") else "lost")
print(json.dumps(state))
"""


def speed(journal: Journal) -> None:
    """Print a row for each kind of disk."""
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "programmable": {"kind": "programmable"},
        "programmable, recorded": {"kind": "programmable", "record": True},
        "programmable, flush: 2ms": {"kind": "programmable", "flush": "2ms"},
    }
    for row, (name, options) in enumerate(kinds.items()):
        lab = LocalProvider().provision(journal, 1, LocalOptions.model_validate(options))
        try:
            figures = json.loads(lab.hosts[0].run(["python3", "-c", _SPEED], timeout_s=120).out)
        finally:
            lab.close()
        if row == 0:
            _print_head("data disk", *figures)
        print(f"| {name} | {' | '.join(f'{figure:,.0f}' for figure in figures.values())} |", flush=True)


def seeds(journal: Journal, count: int) -> None:
    """Print, for each mode of power cut, what the store lost with and without fsync, over this many seeds each."""
    tallies = {(store, mode): Counter[str]() for store in _STORES for mode in CutMode}
    options = LocalOptions.model_validate({"kind": "programmable", "size": "512MiB"})
    lab = LocalProvider().provision(journal, _HOSTS, options)

    def turns(store: str, index: int) -> list[tuple[CutMode, Counter[str]]]:
        return [_trial(lab.hosts[index], store, seed) for seed in range(index, count, _HOSTS)]

    try:
        with ThreadPoolExecutor(_HOSTS) as pool:
            for store in _STORES:
                for mode, tally in chain.from_iterable(pool.map(partial(turns, store), range(_HOSTS))):
                    tallies[store, mode] += tally
    finally:
        lab.close()
    columns = ("cuts", "cuts with loss", "acked", "kept", "lost", "corrupt", "kept after a gap")
    _print_head("each record", "on_cut", *columns)
    for (store, mode), tally in tallies.items():
        print(f"| {store} | {mode} | {' | '.join(f'{tally[column]:,}' for column in columns)} |")


def _trial(host: ServiceHost, store: str, seed: int) -> tuple[CutMode, Counter[str]]:
    """Write records, cut the power, boot, and count what is left of those that were acknowledged."""
    mode = list(CutMode)[seed % len(CutMode)]
    disk, switch = host.disks[DATA].power(ProgrammableDisk), host.power(PowerSwitch)
    disk.program({"seed": seed, "on_cut": {"mode": mode}})
    host.run(["sync", "--file-system", host.disks[DATA].path])
    disk.program({"flush_lies": store == _LYING})
    how = "write" if store == _WRITTEN else "fsync"
    acked = int(host.run(["python3", "-c", _STORE, str(_RECORDS), str(seed), how]).out)
    switch.power_cut()
    disk.reset(["flush_lies"])
    switch.power_on()
    state = json.loads(host.run(["python3", "-c", _AUDIT, str(acked), str(seed)]).out)
    gap = next((place for place, record in enumerate(state) if record != "kept"), acked)
    tally = {"cuts": 1, "acked": acked, "cuts with loss": gap < acked, "kept after a gap": state[gap:].count("kept")}
    return mode, Counter(state) + Counter(tally)


def _print_head(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}", flush=True)


def main(verb: str, count: int) -> None:
    """Measure and print."""
    with watched(f"benchmark-{os.getpid()}") as journal:
        if verb == "speed":
            speed(journal)
        else:
            seeds(journal, count)
        journal.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100)
