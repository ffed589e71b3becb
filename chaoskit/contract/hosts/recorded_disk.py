"""What there is to know from disks whose every write and flush was recorded (`cluster.disk.record`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

NEVER = 2**62
"""A time that did not come."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The messages on a recorded disk. All times are CLOCK_MONOTONIC, ns.

    Attributes:
        values: their values, each once, in order.
        written_ns: when the disk had received the whole payload, unless a power cut took it back: NEVER.
        stable_ns: when it was there for good, and its file system knew it; NEVER if it was not.
        ended_ns: when the run ended; what follows was written by the last sync of the host.
        synced: whether the host was synced then, so that what is not on the disk was never written.
        torn: whether the recording is shorter than it was when the run ended, or ends within an operation.
        overwritten: how many payloads were overwritten later, at one place.
        syncs_ns: when somebody synced all file systems of the machine.
    """

    values: npt.NDArray[np.int64]
    written_ns: npt.NDArray[np.int64]
    stable_ns: npt.NDArray[np.int64]
    ended_ns: int
    synced: bool
    torn: bool
    overwritten: int = 0
    syncs_ns: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class DiskOperations:
    """The operations of a recorded disk until the run ended, in order; their numbers begin with 1.

    Attributes:
        times_ns: when the disk received each, CLOCK_MONOTONIC.
        folders: numbers of the flushes after which a folder was another one: a file was made, renamed or removed.
    """

    times_ns: npt.NDArray[np.int64]
    folders: npt.NDArray[np.int64]


@runtime_checkable
class RecordedDisks(Protocol):
    """Optional power of a host provider: tell what was on recorded disks, and rebuild them."""

    def operations(self, recording: Path) -> DiskOperations:
        """Return the operations of a recorded disk.

        Raises:
            BadInput: there is no recording, or it is none.
        """
        ...

    def crash_state(self, recording: Path, after: int, on_cut: str, seed: int) -> str:
        """Return what identifies the content of a disk after a power cut: equal states have equal content. The
        arguments are those of `crash_image`."""
        ...

    def crash_image(self, recording: Path, image: Path, after: int, on_cut: str, seed: int) -> dict[str, Any]:
        """Write the image of the disk after a power cut; return what was in the cache and what was kept.

        Args:
            recording: a host's recording, from `Lab.keep`.
            image: path of the image; an existing file is overwritten.
            after: number of the last operation before the cut; 0 is before the first.
            on_cut: a `chaoskit.contract.hosts.disk.CutMode`.
            seed: seed for the writes that are kept.
        """
        ...

    def disk_with(self, options: Any, images: Mapping[str, Path]) -> dict[str, Any]:
        """Return `cluster.disk` of a scenario whose hosts start from these images; otherwise as in `options`, without
        recording."""
        ...

    def stored(self, recording: Path, run_id: int, size: int) -> Stored:
        """Return which messages of a run were on a recorded disk, and since when.

        Args:
            recording: a host's recording, from `Lab.keep`.
            run_id: identifies the run in its payloads.
            size: size of each payload, in bytes.

        Raises:
            BadInput: there is no recording, or it is none.
        """
        ...
