"""Whether the backlog of a workload fits on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.interop.omb.plans import Bench

_GIB = 2**30


def check_room(benches: list[Bench], folder: Path) -> None:
    """Check that the backlogs of labs fit where their disks are.

    Args:
        benches: what is to be run.
        folder: where labs are kept, or where they will be.

    Raises:
        BadInput: names the workload, and the remedy.
    """
    place = next(ancestor for ancestor in (folder.absolute(), *folder.absolute().parents) if ancestor.exists())
    free = shutil.disk_usage(place).free
    for bench in benches:
        needed = bench.workload.backlog_bytes * bench.plan.declared.topics[0].replication
        if needed > free:
            raise BadInput(
                f"{bench.plan.source}: consumerBacklogSizeGB: {needed / _GIB:,.1f} GiB with all replicas do not fit on "
                f"this machine, {free / _GIB:,.1f} GiB are free in {folder}; choose a smaller one, such as "
                "--backlog 1GiB"
            )
