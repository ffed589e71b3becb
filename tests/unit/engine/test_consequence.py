"""What changed in the system while a fault held; a fault that changed nothing is told as such."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.history.compacting.placements import Placements, Standing
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.attribution import Explained
from chaoskit.judge.faults.consequence import Change, Changed, changes, consequences, meets, stayed
from chaoskit.judge.faults.consequence_words import in_words, seen
from chaoskit.judge.verdict.headline import without_consequence
from chaoskit.model.tables import PLACEMENTS

SECOND = 1_000_000_000
PLACE = ("log-0", 0)


def _stood(at_s: float, leader: str, in_sync: str | None, epoch: int | None = 1, holders: str = "n1 n2 n3") -> Standing:
    known = None if in_sync is None else frozenset(in_sync.split())
    return Standing(int(at_s * SECOND), leader, frozenset(holders.split()), known, epoch)


def _placements(*standings: Standing) -> Placements:
    rows = [
        {"at_ns": standing.at_ns, "topic": "log-0", "partition": 0, "host": host, "role": role, "epoch": standing.epoch}
        for standing in standings
        for role, hosts in (
            ("leader", [standing.leader]),
            ("replica", standing.holders),
            ("in-sync", standing.in_sync or ()),
        )
        for host in hosts
        if host
    ]
    return Placements(pa.Table.from_pylist(rows, PLACEMENTS))


def _fault(start_s: float = 5, healed_s: float | None = 10, number: int = 0, *targets: str) -> Fault:
    healed_ns = None if healed_s is None else int(healed_s * SECOND)
    start_ns = int(start_s * SECOND)
    return Fault(
        number, "disk-slow", start_ns, targets=targets or ("n2",), effective_ns=start_ns + 1, healed_ns=healed_ns
    )


ALWAYS = [[0, 60 * SECOND]]


def _told(
    *standings: Standing,
    faults: Any = None,
    behaviour: Any = None,
    answered: Any = ALWAYS,
    late_ms: Any = (None,),
    of_readers: Any = (),
    explained: Explained = Explained(FINDINGS.empty_table(), {}),  # noqa: B008 - it is never changed
) -> list[dict[str, Any] | None]:
    faults = faults or [_fault()]
    behaviour = [{}] * len(faults) if behaviour is None else behaviour
    late_ms = [*late_ms, *[None] * (len(faults) - len(late_ms))]
    results = consequences(faults, behaviour, _placements(*standings), of_readers, explained, answered, late_ms)
    assert all(bool(doubts) == (changed is None) for changed, doubts in results)
    return [changed for changed, _ in results]


WHOLE = _stood(0, "n1", "n1 n2 n3")


def test_a_host_that_fell_out_under_a_fault_of_its_own_is_no_consequence_of_another() -> None:
    slow, cut = _fault(5, 30, 0, "n2"), _fault(10, 20, 1, "n1")
    fell = _stood(12, "n2", "n2 n3"), _stood(15, "n2", "n3")

    of_slow, of_cut = _told(WHOLE, *fell, faults=[slow, cut])

    assert of_slow is not None
    assert of_cut is not None
    assert (of_slow["out_of_sync"], "new_leader" in of_slow) == (["n2"], False)
    assert (of_cut["out_of_sync"], of_cut["new_leader"]) == (["n1"], ["log-0/0"])


def test_a_host_that_no_fault_targeted_is_told_of_all_that_held() -> None:
    slow, cut = _fault(5, 30, 0, "n2"), _fault(10, 20, 1, "n1")

    rows = _told(WHOLE, _stood(12, "n1", "n1 n2"), faults=[slow, cut])

    assert [row and row["out_of_sync"] for row in rows] == [["n3"], ["n3"]]


def _findings(name: str, *at_s: float, causes: Any = None) -> Explained:
    rows = [{"anomaly": name, "topic": "log-0", "partition": 0, "at_ns": int(at * SECOND)} for at in at_s]
    return Explained(pa.Table.from_pylist(rows, FINDINGS), {} if causes is None else {name: causes})


@pytest.mark.parametrize(
    ("name", "at_s", "consequence"),
    [
        ("zombie-write", (6, 7), {"found_only": {"zombie-write": 2}}),
        ("reprocessed", (19.9,), {"found_only": {"reprocessed": 1}}),
        ("zombie-write", (4, 7), {}),
        ("zombie-write", (7, 21), {}),
        ("unavailable", (6, 7), {}),
    ],
)
def test_what_only_settings_allow_and_was_found_only_under_a_fault_is_its_consequence(
    name: str, at_s: tuple[float, ...], consequence: dict[str, Any]
) -> None:
    assert _told(WHOLE, explained=_findings(name, *at_s)) == [consequence]


def test_what_another_fault_explains_is_told_of_that_one_alone() -> None:
    faults = [_fault(5, 10, 0), _fault(12, 14, 1)]
    cause = SimpleNamespace(story=SimpleNamespace(faults=[SimpleNamespace(number=1)]))

    rows = _told(WHOLE, faults=faults, explained=_findings("lost", 6, 7, causes=[(cause, 2)]))

    assert rows == [{}, {"found": {"lost": 2}}]


@pytest.mark.parametrize(
    ("late_ms", "consequence"),
    [
        (None, {"stalled_ms": 900.0, "acks_per_s": [500.0, 100.0], "send": {"p99_ms": [20.0, 620.0]}}),
        (59.0, {"stalled_ms": 900.0, "acks_per_s": [500.0, 100.0], "send": {"p99_ms": [20.0, 620.0]}}),
        (60.0, {"stalled_ms": 900.0, "acks_per_s": [500.0, 100.0]}),
        (80.0, {"stalled_ms": 900.0}),
        (90.0, None),
    ],
)
def test_what_the_machine_alone_may_have_made_is_no_consequence_of_a_fault(
    late_ms: float | None, consequence: dict[str, Any] | None
) -> None:
    behaviour = {"stalled_ms": 900.0, "acks_per_s": [500.0, 100.0], "send": {"p99_ms": [20.0, 620.0]}}

    assert _told(WHOLE, behaviour=[behaviour], late_ms=[late_ms]) == [consequence]


def test_what_the_system_tells_is_a_consequence_on_a_busy_machine_too() -> None:
    (consequence,) = _told(WHOLE, _stood(7, "n1", "n1 n3"), behaviour=[{"stalled_ms": 900.0}], late_ms=[500.0])

    assert consequence is not None
    assert consequence.keys() == {"out_of_sync", "membership"}


def test_who_reads_changes_under_a_fault_as_leaders_do() -> None:
    taken = [
        Changed(Change.NEW_OWNER, ("log-0", part), at_s * SECOND, "consumer-1", "consumer-0", group="g")
        for part, at_s in ((0, 3), (0, 7), (1, 8))
    ]
    away = Changed(Change.UNSUBSCRIBED, PLACE, 6 * SECOND, "consumer-0", until_ns=9 * SECOND)

    (consequence,) = _told(WHOLE, of_readers=[*taken, away])

    assert consequence is not None
    assert (consequence["new_owner"], consequence["unsubscribed"]) == (["log-0/0", "log-0/1"], ["consumer-0"])
    assert consequence["membership"][1] == {
        "what": "new-owner",
        "partition": "log-0/0",
        "host": "consumer-1",
        "before": "consumer-0",
        "group": "g",
        "at_ms": 7000.0,
    }
    assert in_words({"at_ms": 5000.0, "consequence": consequence}) == (
        "consumer-0 was not subscribed to log-0/0 at 6.0 s (1.0 s after it began), until 9.0 s; "
        "consumer-1 took over 2 partitions from consumer-0 at 7.0 s (2.0 s after it began)"
    )


def test_a_fault_under_which_nothing_changed_has_no_consequence_however_busy_the_machine() -> None:
    assert _told(WHOLE, behaviour=[{}], late_ms=[500.0]) == [{}]


@pytest.mark.parametrize(
    ("standings", "words"),
    [
        ([WHOLE, _stood(2, "n1", "n1 n2 n3")], []),
        (
            [WHOLE, _stood(2, "n1", "n1 n3"), _stood(4, "n1", "n1 n2 n3")],
            ["n2 fell out of sync with log-0/0 at 2.0 s"],
        ),
        ([WHOLE, _stood(2, "n3", "n1 n2 n3", 2)], ["leader of log-0/0 from n1 to n3 at 2.0 s"]),
        (
            [WHOLE, _stood(2, "", "n1 n2 n3", 2), _stood(3, "n3", "n1 n2 n3", 3)],
            ["log-0/0 had no leader at 2.0 s", "leader of log-0/0 from n1 to n3 at 3.0 s"],
        ),
        ([WHOLE, _stood(2, "n1", "n1 n2 n3", 2)], ["n1 was elected again as leader of log-0/0 at 2.0 s"]),
        (
            [WHOLE, _stood(2, "n1", None, 1, "n1 n2 n4")],
            ["n3 left log-0/0 at 2.0 s", "n4 joined log-0/0 at 2.0 s"],
        ),
        ([_stood(0, "n1", None), _stood(2, "n1", None)], []),
    ],
)
def test_a_change_is_told_in_words(standings: list[Standing], words: list[str]) -> None:
    assert [seen(change) for change in changes(PLACE, standings)] == words


def test_a_change_belongs_to_the_fault_that_held_when_it_was_seen() -> None:
    rows = _told(WHOLE, _stood(7, "n1", "n1 n3"), _stood(9, "n1", "n1 n2 n3"))

    assert rows == [
        {
            "out_of_sync": ["n2"],
            "membership": [
                {"what": "out-of-sync", "partition": "log-0/0", "host": "n2", "at_ms": 7000.0, "until_ms": 9000.0}
            ],
        }
    ]


@pytest.mark.parametrize(
    ("at_s", "whose"),
    [(4.9, []), (5.1, [0]), (19, [0]), (20.5, []), (30.5, [1]), (38, [1])],
)
def test_what_changes_soon_after_a_healing_is_told_of_that_fault(at_s: float, whose: list[int]) -> None:
    faults = [_fault(), _fault(30, 31, 1)]

    rows = _told(WHOLE, _stood(at_s, "n2", "n1 n2 n3", 2), faults=faults)

    assert [number for number, row in enumerate(rows) if row] == whose
    assert all(row is not None for row in rows)


def test_once_the_next_fault_has_begun_a_change_is_not_told_of_one_that_was_healed() -> None:
    rows = _told(WHOLE, _stood(13, "n2", "n1 n2 n3", 2), faults=[_fault(), _fault(12, 14, 1)])

    assert rows[0] == {}
    assert rows[1] is not None
    assert rows[1]["new_leader"] == ["log-0/0"]


@pytest.mark.parametrize(
    ("faults", "behaviour"),
    [
        ([_fault(), _fault(8, 12, 1)], [{}, {}]),  # another one held beside it
        ([Fault(0, "disk-slow", 5, targets=("n2",))], [{}]),  # it had no effect
    ],
)
def test_nobody_can_tell_of_a_fault_beside_another_or_without_effect(faults: list[Fault], behaviour: Any) -> None:
    assert _told(WHOLE, faults=faults, behaviour=behaviour) == [None] * len(faults)


def test_nobody_can_tell_if_neither_clients_nor_the_system_say_anything() -> None:
    assert _told(behaviour=[None]) == [None]
    assert _told(WHOLE, behaviour=[None]) == [None], "nothing was sent that could have shown anything"
    assert _told(behaviour=[{}]) == [None], "nobody looked who leads"
    assert _told(behaviour=[{"stalled_ms": 900.0}]) == [{"stalled_ms": 900.0}]


def test_a_fault_of_a_client_changes_no_leader() -> None:
    paused = [Fault(0, "client-pause", 5 * SECOND, targets=("consumer-0",), effective_ns=1, healed_ns=10 * SECOND)]
    led = _stood(7, "n2", "n2 n3", 2)
    taken = Changed(Change.NEW_OWNER, PLACE, 7 * SECOND, "consumer-1", "consumer-0", group="g")

    (consequence,) = _told(WHOLE, led, faults=paused, of_readers=[taken])

    assert consequence is not None
    assert consequence.keys() == {"new_owner", "membership"}
    assert _told(WHOLE, led, faults=paused) == [{}]
    assert _told(faults=paused, answered=[]) == [{}], "who leads says nothing of it, recorded or not"


@pytest.mark.parametrize(
    ("standings", "targets", "names"),
    [
        ([WHOLE], ("n2",), ["n2"]),
        ([WHOLE, _stood(7, "n1", "n1 n3")], ("n2", "n3"), ["n3"]),
        ([WHOLE, _stood(12, "n1", "n1 n3")], ("n2",), ["n2"]),  # after it was healed
        ([_stood(0, "n1", "n1")], ("n2",), []),  # it was not in sync before
        ([_stood(0, "n1", None)], ("n2",), []),  # nobody knows
        ([WHOLE], ("producer-0",), []),
    ],
)
def test_a_target_that_was_in_sync_all_the_time_is_named(standings: Any, targets: Any, names: list[str]) -> None:
    assert stayed(_fault(5, 10, 0, *targets), _placements(*standings), ALWAYS) == names


@pytest.mark.parametrize(
    ("answered", "consequence"),
    [
        ([[0, 60 * SECOND]], [{}]),
        ([[0, 6 * SECOND], [9 * SECOND, 60 * SECOND]], [None]),  # not in between
        ([[0, 6 * SECOND]], [None]),  # not any more
        ([[6 * SECOND, 60 * SECOND]], [None]),  # not yet
        ([], [None]),  # a run of before that was recorded, or whose harness was killed
    ],
)
def test_a_system_that_did_not_answer_is_not_known_to_have_stayed_as_it_was(answered: Any, consequence: Any) -> None:
    assert _told(WHOLE, answered=answered) == consequence
    assert stayed(_fault(), _placements(WHOLE), answered) == (["n2"] if consequence == [{}] else [])
    assert _told(answered=answered) == [None], "of a system that never tells, nobody looked"


@pytest.mark.parametrize(("last_s", "consequence"), [(4.9, {}), (20, None)])
def test_a_fault_before_findings_that_nothing_explains_is_not_known_to_have_changed_nothing(
    last_s: float, consequence: Any
) -> None:
    assert _told(WHOLE, explained=_findings("lost", 1, last_s, causes=[(None, 2)])) == [consequence]


@pytest.mark.parametrize(
    ("consequence", "expected", "met"),
    [
        ({}, "none", True), ({}, "some", False), ({}, "out-of-sync", False),
        ({"out_of_sync": ["n2"]}, "out-of-sync", True), ({"out_of_sync": ["n2"]}, "some", True),
        ({"out_of_sync": ["n2"]}, "new-leader", False), ({"out_of_sync": ["n2"]}, "none", False),
        ({"stalled_ms": 900.0}, "stalled", True), ({"unheard_ms": 900.0}, "unheard", True),
        ({"not_acknowledged": 3}, "not-acknowledged", True),
        (None, "none", False), (None, "some", False),
    ],
)  # fmt: skip
def test_what_is_expected_must_be_among_what_changed(consequence: Any, expected: str, met: bool) -> None:
    assert meets(consequence, expected) is met


def _as_told(consequence: Any, stayed: list[str], target: str = "n2") -> dict[str, Any]:
    return {
        "kind": "disk-slow", "targets": [target], "at_ms": 1.0, "consequence": consequence, "stayed_in_sync": stayed,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ([_as_told({}, ["n2"])], "disk-slow of n2 had no consequence: n2 stayed in sync"),
        ([_as_told({}, [])], "disk-slow of n2 had no consequence"),
        ([_as_told({"stalled_ms": 700.0}, ["n2"])], "n2 stayed in sync under disk-slow"),
        ([_as_told({"found": {"lost": 3}}, ["n2"])], ""),
        ([_as_told({"membership": [], "new_leader": ["t/0"]}, ["n2"])], ""),
        ([_as_told(None, ["n2"])], ""),
        ([_as_told({}, [])] * 3, "no fault had a consequence"),
        ([*[_as_told({}, [])] * 3, _as_told({"stalled_ms": 1.0}, [])], "3 of 4 faults had no consequence"),
    ],
)
def test_the_headline_names_what_changed_nothing(faults: list[dict[str, Any]], said: str) -> None:
    assert without_consequence(faults) == said


def test_what_was_first_seen_when_the_system_answered_again_belongs_to_all_faults_that_held_since() -> None:
    faults = [_fault(5, 30, 0, "n2"), _fault(6, 12, 1, "n9"), _fault(31, 32, 2, "n2")]
    silent = [[0, 10 * SECOND], [20 * SECOND, 60 * SECOND]]
    late, soon = _stood(20, "n1", "n1 n2"), _stood(26, "n1", "n1")

    rows = _told(WHOLE, late, soon, faults=faults, answered=silent)

    assert [row.get("out_of_sync") if row else row for row in rows] == [["n3", "n2"], ["n3"], {}]


def test_who_leads_is_told_before_who_is_in_sync() -> None:
    fell = [Changed(Change.OUT_OF_SYNC, PLACE, 6 * SECOND, f"n{number}") for number in range(9)]
    led = Changed(Change.NEW_LEADER, PLACE, 7 * SECOND, "n3", "n1")
    consequence = {"membership": [change.as_json() for change in [*fell, led]]}

    words = in_words({**_as_told(consequence, []), "at_ms": 5_000.0})

    assert "leader of log-0/0 from n1 to n3 at 7.0 s" in words
    assert words.endswith("and 6 more changes in verdict.json")


def test_equal_changes_of_several_partitions_are_one_and_many_are_counted() -> None:
    moves = [Changed(change.what, ("t", n), 6 * SECOND, change.host, change.before) for n in range(3) for change in
             changes(PLACE, [WHOLE, _stood(6, "n3", "n1 n2 n3", 2)])]  # fmt: skip
    joins = [Changed(moves[0].what, PLACE, 7 * SECOND, f"n{number}") for number in range(9)]

    fault = {**_as_told({"membership": [move.as_json() for move in [*moves, *joins]]}, []), "at_ms": 5_000.0}

    assert in_words(fault).startswith(
        "leader of 3 partitions from n1 to n3 at 6.0 s (1.0 s after it began); leader of "
    )
    assert in_words(fault).endswith("and 6 more changes in verdict.json")
