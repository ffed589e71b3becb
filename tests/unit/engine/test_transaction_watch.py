"""A transaction is recorded once it was open at two looks, with the time of the first; nobody may tell in between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chaoskit.contract.systems.service import OpenTransaction, Placed
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.finish import finish
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.model.observations.transactions import OpenTransactions
from chaoskit.model.place import Place
from chaoskit.run.transaction_watch import TransactionWatch

PLACE = "run-log-0", 1


class _Looks:
    def __init__(self, *looks: Sequence[str] | None) -> None:
        self._looks = iter(looks)

    def open_transactions(self, placements: Sequence[Placed]) -> dict[Place, list[OpenTransaction]]:
        names = next(self._looks)
        if names is None:
            return {}
        return {PLACE: [OpenTransaction(40, len(name), f"run-{name}") for name in names]}


def test_what_was_open_at_two_looks_is_recorded_with_the_first(tmp_path: Path) -> None:
    wal = tmp_path / "wal"
    wal.mkdir()
    (tmp_path / "scenario.yaml").write_text("name: watched\nimported: {}\n")
    origin_ns = write_origin(wal)
    write_topics(wal, {"log-0": LOG.name})
    # At one position may be another one, after a truncation.
    watch = TransactionWatch(_Looks(["pay"], ["pay"], ["mail"], ["pay"], None, ["pay"]), wal, 3, origin_ns, 1, "run-")
    for _ in range(6):
        watch.look([])
    watch.close()
    finish(tmp_path)

    (partition,) = History.open(tmp_path).partitions
    seen = OpenTransactions.read(read_observations(partition))

    assert (partition.topic, partition.partition) == ("log-0", 1)
    looks = History.open(tmp_path).operations
    assert list(zip(seen.name, seen.position.tolist(), strict=True)) == [("pay", 40), ("pay", 40)]
    first_ns, again_ns = seen.since_ns.tolist()
    assert 0 < first_ns < looks["start_ns"][0].as_py() < again_ns < looks["start_ns"][1].as_py()
