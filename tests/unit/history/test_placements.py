"""Where partitions were stored: recorded when it changes, and known for any time."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from chaoskit.base.waiting import wait_until
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.history.compacting.placements import FILE, PlacementLog, Placements, Standing, compact_placements
from chaoskit.history.compacting.tiers import read_tiers
from chaoskit.model.place import Place
from chaoskit.run.survey import Survey

P0, P1 = ("log-0", 0), ("log-0", 1)


def _stood(at_ns: int, leader: str, holders: str, in_sync: str | None = None, epoch: int | None = None) -> Standing:
    known = None if in_sync is None else frozenset(in_sync.split())
    return Standing(at_ns, leader, frozenset(holders.split()), known, epoch)


MOVES = [
    (P0, _stood(10, "n1", "n1 n2")),
    (P0, _stood(20, "n1", "n1 n2")),
    (P1, _stood(20, "", "n3")),
    (P0, _stood(30, "n2", "n1 n2")),
    (P0, _stood(40, "n4", "n4 n5")),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wal").mkdir()
    return tmp_path


def _placements(folder: Path) -> Placements:
    compact_placements(folder)
    return Placements(pq.read_table(folder / FILE))


def test_only_changes_are_recorded(folder: Path) -> None:
    log = PlacementLog(folder / "wal")
    for place, standing in MOVES:
        log.record(place, standing)
    log.close()
    compact_placements(folder)

    rows = pq.read_table(folder / FILE).to_pylist()
    assert [(row["at_ns"], row["partition"], row["host"], row["role"]) for row in rows] == [
        (10, 0, "n1", "leader"), (10, 0, "n1", "replica"), (10, 0, "n2", "replica"),
        (20, 1, "n3", "replica"),
        (30, 0, "n2", "leader"), (30, 0, "n1", "replica"), (30, 0, "n2", "replica"),
        (40, 0, "n4", "leader"), (40, 0, "n4", "replica"), (40, 0, "n5", "replica"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "holders"),
    [
        (5, 8, {"n1", "n2"}),  # nobody knew yet: as it was first
        (12, 15, {"n1", "n2"}),
        (30, 35, {"n1", "n2"}),
        (35, 45, {"n1", "n2", "n4", "n5"}),
        (50, 60, {"n4", "n5"}),
        (15, None, {"n1", "n2", "n4", "n5"}),
    ],
)
def test_holders_are_those_of_any_time_in_an_interval(
    folder: Path, start: int, end: int | None, holders: set[str]
) -> None:
    log = PlacementLog(folder / "wal")
    for place, standing in MOVES:
        log.record(place, standing)
    log.close()
    placements = _placements(folder)

    assert placements.holders(("log-0", 0), start, end) == frozenset(holders)
    assert placements.holders(("log-7", 0), start, end) is None


def test_a_torn_line_and_a_run_that_recorded_nothing(folder: Path) -> None:
    assert _placements(folder).holders(("log-0", 0), 0, 1) is None
    log = PlacementLog(folder / "wal")
    log.record(*MOVES[0])
    log.close()
    with (folder / "wal" / "placements.jsonl").open("ab") as file:
        file.write(b'{"at_ns": 20, "to')

    assert _placements(folder).holders(("log-0", 0), 0, 100) == frozenset({"n1", "n2"})


def test_who_took_part_in_writes_is_recorded_whenever_it_changed(folder: Path) -> None:
    stood = [
        _stood(10, "n1", "n1 n2", "n1 n2", 4),
        _stood(30, "n1", "n1 n2", "n1", 4),
        _stood(40, "n1", "n1 n2", "n1", 5),
        _stood(50, "", "n1 n2", "", 5),
    ]
    log = PlacementLog(folder / "wal")
    for standing in stood:
        log.record(P0, standing)
        log.record(P0, standing._replace(at_ns=standing.at_ns + 5))
    log.close()

    placements = _placements(folder)
    assert placements.standings(P0) == stood
    assert placements.standings(P1) == []
    assert placements.holders(P0, 0, None) == frozenset({"n1", "n2"})


def test_nobody_told_who_took_part_in_writes(folder: Path) -> None:
    log = PlacementLog(folder / "wal")
    log.record(*MOVES[0])
    log.close()

    assert _placements(folder).standings(P0) == [MOVES[0][1]]


class Moving:
    """A cluster that says something else each time, and sometimes nothing."""

    def __init__(self) -> None:
        self.asked = 0

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "a cluster on paper")

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return ()

    def placements(self) -> list[Placed]:
        self.asked += 1
        if self.asked == 2:
            raise ServiceError("nobody answers")
        return [Placed(("t1-log-0", 0), f"n{self.asked}", (f"n{self.asked}",))]


def test_a_survey_looks_at_the_start_when_asked_and_at_the_end(folder: Path) -> None:
    cluster = Moving()
    survey = Survey(cluster, folder / "wal", time.monotonic_ns(), lambda name: name.removeprefix("t1-"))  # type: ignore[arg-type]
    survey.start()
    assert cluster.asked == 1
    survey.soon()
    assert wait_until(lambda: cluster.asked > 1, 30)
    survey.close()

    holders = _placements(folder).holders(("log-0", 0), 0, None)
    assert holders is not None
    assert {"n1", f"n{cluster.asked}"} <= holders


class Storing(Moving):
    """A cluster with an object store."""

    def tiered(self, placements: list[Placed]) -> dict[Place, int]:
        assert [placed.place for placed in placements] == [("t1-log-0", 0)]
        return {("t1-log-0", 0): 100 * self.asked}


def test_a_survey_notes_up_to_where_an_object_store_has_partitions(folder: Path) -> None:
    cluster = Storing()
    survey = Survey(cluster, folder / "wal", time.monotonic_ns(), lambda name: name.removeprefix("t1-"))  # type: ignore[arg-type]
    survey.start()
    survey.close()

    looks = read_tiers(folder)[("log-0", 0)]
    assert looks[0].until == 100
    assert looks[-1].until == 100 * cluster.asked
    assert [look.at_ns for look in looks] == sorted(look.at_ns for look in looks)


def test_a_survey_that_never_began_ends(folder: Path) -> None:
    Survey(Moving(), folder / "wal", 0, str).close()  # type: ignore[arg-type]


class Broken(Moving):
    """A cluster whose answers nobody understands."""

    def placements(self) -> list[Placed]:
        raise TypeError("an answer without ledgers")


def test_a_survey_that_fails_is_a_problem_of_the_run_and_goes_on(folder: Path) -> None:
    survey = Survey(Broken(), folder / "wal", time.monotonic_ns(), str)  # type: ignore[arg-type]
    survey.start()
    survey.soon()
    survey.close()

    assert survey.problems == ["placements were not recorded: bug: TypeError('an answer without ledgers')"]


def test_a_survey_on_a_full_disk_is_a_problem_of_the_run(folder: Path) -> None:
    survey = Survey(Moving(), folder / "wal", time.monotonic_ns(), str)  # type: ignore[arg-type]
    survey._log._file.close()
    with Path("/dev/full").open("wb", buffering=0) as full:
        survey._log._file = full  # type: ignore[assignment]
        survey.start()
        survey.close()

    assert survey.problems[0].startswith("placements were not recorded: no space for more history")
