"""The end of a recording: the host is synced, so that what is then not on its disk was never written there."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.base.reading import reading
from chaoskit.contract.hosts.host import Host, HostError
from chaoskit.contract.hosts.recorded_disk import NEVER
from clusters.hosts.disk.layout import END, LOG


@dataclass(frozen=True, slots=True)
class Ended:
    """How a recording ended.

    Attributes:
        at_ns: when the run ended, CLOCK_MONOTONIC.
        synced: whether the host was synced after that.
        length: of the log, in bytes.
        syncs_ns: when somebody synced all file systems of the machine before, CLOCK_MONOTONIC.
    """

    at_ns: int
    synced: bool
    length: int
    syncs_ns: Sequence[int] = ()


def end_recording(host: Host, path: str, folder: Path, syncs_ns: Sequence[int]) -> None:
    """Sync a host's recorded disk, as far as it can be, and note it beside the log.

    Args:
        host: the host.
        path: where the disk is mounted on it.
        folder: the disk's folder on this machine.
        syncs_ns: see `Ended`.
    """
    at_ns = time.monotonic_ns()
    try:
        synced = host.run(["sync", "--file-system", path], check=False).status == 0
    except HostError:
        synced = False
    ended = Ended(at_ns, synced, (folder / LOG).stat().st_size, syncs_ns)
    (folder / END).write_text(json.dumps(asdict(ended)))


def read_end(recording: Path) -> Ended:
    """Return how a recording ended.

    Raises:
        BadInput: that is not on record, or is damaged.
    """
    path = recording / END
    if not path.exists():
        raise BadInput(f"{path} is missing: an older chaoskit recorded this disk; run the scenario again")
    with reading(path):
        return Ended(**json.loads(path.read_text()))


def ended_ns(recording: Path) -> int:
    """Return when the recorded run ended, CLOCK_MONOTONIC; later than everything if an older chaoskit recorded it.

    Raises:
        BadInput: that is damaged.
    """
    return read_end(recording).at_ns if (recording / END).exists() else NEVER
