"""A finding is explained where a mechanism took its message: what happened to its copies, its way, its client.

Everything else is an alibi, however near in place and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from explaining import ALL_OF_0, ALL_OF_1, SECOND, Row, declared, explained, lost, moved, placed, rules
from guaranteed import effect
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.judge.explaining.attribution import JUDGED, Attribution, Cause
from chaoskit.judge.explaining.record import Record

ALL = "n1 n2 n3"
ONE = declared({"acks": "1"})


def test_a_loss_is_explained_by_the_power_cut_of_its_replicas() -> None:
    explanation = explained([lost(19)], [ALL_OF_1, ALL_OF_0])
    (row,) = explanation.findings.to_pylist()

    assert explanation.findings.schema.equals(JUDGED)
    assert (row["rule"], row["fault"]) == ("kafka.os-flush", 1)
    ((cause, count),) = explanation.causes["lost"]
    assert cause is not None
    (fault,) = cause.story.faults
    assert (count, fault.kind, fault.targets) == (1, "power-cut", ("n1", "n2", "n3"))
    assert cause.story.words.startswith(
        "it had to be on n1, n2, n3 when it was acknowledged, and every copy was lost or passed over:"
    )


@pytest.mark.parametrize(
    ("row", "effects"),
    [
        pytest.param(lost(2), [ALL_OF_1], id="on other hosts"),
        pytest.param(lost(59), [ALL_OF_1], id="on other hosts, at the time"),
        pytest.param(lost(20), [effect("power-cut", "n1", "n2", "n3", start_s=90, healed_s=95)], id="long before"),
        pytest.param(lost(60), [ALL_OF_0], id="written after the healing"),
        pytest.param(lost(19), [effect("power-cut", "n1", start_s=20, healed_s=25)], id="one of three"),
        pytest.param(lost(19), [effect("power-cut", "n2", "n3", start_s=20, healed_s=25)], id="not the leader"),
        pytest.param(
            lost(19),
            [effect("power-cut", f"n{n}", start_s=s, healed_s=s + 2) for n, s in ((1, 20), (2, 40), (3, 60))],
            id="one after the other",
        ),
        pytest.param(
            lost(19), [effect("power-cut", "n1", start_s=20, healed_s=25), replace(ALL_OF_1, start_ns=20 * SECOND)],
            id="enough hosts at once, but only one of them here",
        ),
        pytest.param(lost(19), [effect("kill", "n1", "n2", "n3", start_s=20)], id="a fault without damage"),
        pytest.param(lost(19), [], id="no fault at all"),
    ],
)  # fmt: skip
def test_an_alibi_explains_nothing(row: Row, effects: list[Effect]) -> None:
    assert rules([row], effects) == [None]


def test_several_faults_may_be_one_cause() -> None:
    cuts = [effect("power-cut", f"n{number}", start_s=19 + number, healed_s=25) for number in (1, 2, 3)]
    explanation = explained([lost(19)], [effect("kill", "n2", start_s=20), *cuts])

    assert explanation.findings["rule"].to_pylist() == ["kafka.os-flush"]
    ((cause, _),) = explanation.causes["lost"]
    assert cause is not None
    assert sorted(fault.number for fault in cause.story.faults) == [1, 2, 3], "without the kill, which loses nothing"


def test_of_two_cuts_the_first_one_after_the_acknowledgement_took_it() -> None:
    again = effect("power-cut", "n1", "n2", "n3", start_s=40, healed_s=45)

    explanation = explained([lost(19), lost(30), lost(47)], [ALL_OF_0, again])
    assert explanation.findings["fault"].to_pylist() == [0, 1, None]


def test_a_cut_takes_what_was_acknowledged_until_it_was_proved() -> None:
    slow = replace(ALL_OF_0, done_ns=22 * SECOND)

    assert rules([lost(21), lost(23)], [slow]) == ["kafka.os-flush", None]


def test_the_replicas_are_those_at_the_time() -> None:
    away = placed((0, 0, "n1", ALL), (15, 0, "n4", "n4 n5 n6"))

    assert rules([lost(19)], [ALL_OF_0], placements=away) == [None]
    assert rules([lost(59)], [ALL_OF_1], placements=away) == ["kafka.os-flush"]


def test_a_host_that_was_in_sync_again_has_its_copy_again() -> None:
    first, second = (effect("power-cut", host, start_s=at, healed_s=at + 2) for host, at in (("n1", 20), ("n2", 40)))
    never = placed((0, 0, "n2", "n1 n2"), (20.5, 0, "n2", "n1 n2", "n2"))
    again = placed((0, 0, "n2", "n1 n2"), (20.5, 0, "n2", "n1 n2", "n2"), (30, 0, "n2", "n1 n2"))

    assert rules([lost(19)], [first, second], placements=never) == ["kafka.os-flush"]
    assert rules([lost(19)], [first, second], placements=again) == [None]


def test_where_nobody_recorded_the_replicas_the_loss_is_a_doubt() -> None:
    explanation = explained([lost(19)], [ALL_OF_0], placements=placed())

    assert explanation.findings["rule"].to_pylist() == [None]
    assert explanation.open["lost"] == (1, "the record does not show where the partition was stored")


def test_settings_alone_may_be_the_cause() -> None:
    reads = replace(declared(), consumer={"isolation.level": "read_uncommitted"})
    explanation = explained([{**lost(5), "anomaly": "aborted-read"}], [], reads)

    ((cause, _),) = explanation.causes["aborted-read"]
    assert cause is not None
    assert (cause.rule.id, cause.story.faults) == ("kafka.read-uncommitted", ())


def test_a_message_is_sent_again_by_its_own_client_while_it_is_in_flight() -> None:
    twice = {**lost(20.5), "anomaly": "duplicate", "value": 5}
    plain = declared({"enable.idempotence": False})
    own, other = (effect("client-disconnect", name, start_s=20, healed_s=21) for name in ("producer-0", "producer-1"))

    assert rules([twice], [own], plain) == ["kafka.retries"]
    assert rules([twice], [other], plain) == [None]
    assert rules([{**twice, **lost(80), "anomaly": "duplicate", "value": 5}], [own], plain) == [None]


@pytest.mark.parametrize(
    "idle",
    [
        effect("wire", "n1", start_s=20, healed_s=25, message="*", then="count"),
        effect("packet-delay", "n1", start_s=20, healed_s=25, delay="1ms"),
        effect("snapshot", "n1", start_s=20, healed_s=25),
        effect("clock-offset", "n1", start_s=20, healed_s=25),
        effect("client-pause", "consumer-0", start_s=20, healed_s=25),
    ],
    ids=lambda fault: fault.kind,
)
def test_an_idle_fault_explains_nothing(idle: Effect) -> None:
    plain = declared({"acks": "1", "enable.idempotence": False})
    twice = {**lost(21), "anomaly": "duplicate", "value": 5}

    assert rules([lost(21), twice], [idle], plain, placements=moved(22)) == [None, None]


def test_what_the_leader_alone_had_is_passed_over_by_an_election_that_a_fault_caused() -> None:
    killed = effect("kill", "n1", start_s=20, healed_s=25)

    assert rules([lost(19.9)], [killed], ONE, placements=moved(21)) == ["kafka.acks-one"]
    assert rules([lost(19.9)], [killed], ONE) == [None], "nobody else led"
    assert rules([lost(19.9)], [], ONE, placements=moved(21)) == [None], "by itself"
    assert rules([lost(30)], [killed], ONE, placements=moved(21)) == [None], "the new leader had it"


def test_a_replica_that_was_moved_may_come_in_sync_and_lead_between_two_looks() -> None:
    moves = effect("reassign", "n1", start_s=20, healed_s=40)
    adding, gone = (19, 0, "n1", "n1 n2 n3 n4", ALL), (21, 0, "n4", "n2 n3 n4")
    onto_it = placed((0, 0, "n1", ALL), adding, gone)

    assert rules([lost(20.9)], [moves], ONE, placements=onto_it) == ["kafka.acks-one"]
    assert rules([lost(20.9)], [moves], placements=onto_it) == [None], "all in sync had it"
    assert rules([lost(20.9)], [], ONE, placements=onto_it) == [None], "by itself"
    unseen = placed((0, 0, "n1", ALL), gone)
    assert rules([lost(20.9)], [moves], ONE, placements=unseen) == ["kafka.acks-one"], "it was added between two looks"
    others = replace(moves, targets=("n3",))
    assert rules([lost(20.9)], [others], ONE, placements=onto_it) == [None], "a move of others"
    killed = effect("kill", "n1", start_s=20, healed_s=40)
    assert rules([lost(20.9)], [killed], ONE, placements=onto_it) == [None], "an unclean election"
    late = placed((0, 0, "n1", ALL), (119, 0, "n1", "n1 n2 n3 n4", ALL), (121, 0, "n4", "n2 n3 n4"))
    again = effect("reassign", "n1", start_s=120, healed_s=140)
    explaining = rules([lost(20), lost(120.9)], [again], ONE, placements=late)
    assert explaining == [None, "kafka.acks-one"], "all had the first one"


@pytest.mark.parametrize(("kind", "host"), [("reassign", "n1"), ("reassign", "n2"), ("restart", "n1")])
def test_a_leader_that_is_replaced_in_order_goes_on_until_it_is_told(kind: str, host: str) -> None:
    moves = effect(kind, host, start_s=20, healed_s=40)

    assert rules([lost(21.3), lost(23)], [moves], ONE, placements=moved(21)) == ["kafka.acks-one", None]
    assert rules([lost(21.3)], [moves], placements=moved(21)) == [None], "all in sync had it"
    assert rules([lost(21.3)], [effect("kill", "n1", start_s=20)], ONE, placements=moved(21)) == [None]
    assert rules([lost(21.3)], [replace(moves, targets=("n3",))], ONE, placements=moved(21)) == [None]


def test_a_leader_that_was_cut_off_goes_on_until_it_hears_of_its_successor() -> None:
    apart = effect("partition", "n1", start_s=20, healed_s=40, peers=["hosts"])

    assert rules([lost(35), lost(55)], [apart], ONE, placements=moved(22)) == ["kafka.acks-one", None]


def test_a_replica_that_is_not_in_sync_leads_where_elections_may_be_unclean() -> None:
    unclean = declared({"acks": "all"}, **{"unclean.leader.election.enable": True})
    held = effect("pause", "n2", "n3", start_s=10, healed_s=75)
    killed = effect("kill", "n1", start_s=60, healed_s=70)
    out = placed((0, 0, "n1", ALL), (12, 0, "n1", ALL, "n1"), (61, 0, "n2", ALL, "n2"))

    topic = {"min.insync.replicas": 1, "unclean.leader.election.enable": True}
    alone = replace(unclean, options=unclean.options.model_copy(update={"topic": topic}))
    assert rules([lost(15)], [held, killed], alone, placements=out) == ["kafka.unclean-election"]
    assert rules([lost(15)], [held, killed], placements=out) == [None], "clean elections"
    assert rules([lost(15)], [held, killed], alone, placements=moved(61)) == [None], "it was in sync"


def test_a_flipped_bit_explains_only_what_was_in_its_file_before() -> None:
    flip = effect("bit-flip", "n1", start_s=20, healed_s=20)
    offsets = replace(flip, partitions=frozenset({("__consumer_offsets", 12)}))
    segment = replace(flip, partitions=frozenset({("log-0", 0)}))
    follower = effect("bit-flip", "n3", start_s=20, healed_s=20)
    gone = {**lost(19), "anomaly": "truncated"}

    assert rules([gone], [flip]) == rules([gone], [segment]) == ["kafka.files-changed"]
    assert rules([gone], [offsets]) == rules([gone], [follower]) == [None]
    assert rules([{**gone, "partition": 1}], [segment]) == [None]
    assert rules([{**lost(600), "anomaly": "truncated"}], [flip]) == [None], "written later"


def test_a_clock_that_is_ahead_explains_what_is_old() -> None:
    ahead = replace(effect("clock-offset", "n1", start_s=60, healed_s=65), ahead_ns=8 * 24 * 3600 * SECOND)
    expired = {**lost(5), "anomaly": "expired"}

    assert rules([expired], [ahead]) == ["kafka.retention"]
    assert rules([{**expired, "partition": 1}], [ahead]) == [None], "not on that host"


def test_an_implied_anomaly_has_the_cause_of_its_root() -> None:
    assert rules([{**lost(19), "anomaly": "rewound", "at_ns": 30 * SECOND}], [ALL_OF_0]) == ["kafka.os-flush"]
    assert rules([{**lost(19), "anomaly": "rewound", "at_ns": 10 * SECOND}], [ALL_OF_0]) == [None], "before the fault"


def test_a_jump_over_messages_has_the_cause_of_what_was_found_of_them() -> None:
    jump = {**lost(30), "anomaly": "sequence-jump", "other_value": 3, "value": 9}

    assert rules([{**lost(19), "value": 5}, jump], [ALL_OF_0]) == ["kafka.os-flush"] * 2
    assert rules([{**lost(19), "value": 5}, {**lost(50), "value": 7}, jump], [ALL_OF_0])[-1] is None
    assert rules([{**lost(19), "value": 2}, jump], [ALL_OF_0])[-1] is None, "another message"


def test_a_known_issue_is_the_last_resort() -> None:
    """A rule that allows comes before a defect that only explains."""
    guarantees = system("pulsar", "system").guarantees
    attribution = Attribution(guarantees, anomalies(), Record(declared(), [], placed()))
    known = [bool(rule.known) for rule in attribution._rules("lost")]

    assert any(known)
    assert known == sorted(known)


def test_a_measurement_needs_no_cause() -> None:
    explanation = explained([{**lost(19), "anomaly": "unavailable"}], [ALL_OF_0])

    assert "unavailable" not in explanation.causes
    assert explanation.findings["rule"].to_pylist() == [None]


def test_causes_are_counted() -> None:
    causes = explained([lost(19), lost(19.5), lost(200)], [ALL_OF_0]).causes["lost"]
    counts: dict[str | None, int] = {cause.rule.id if isinstance(cause, Cause) else None: n for cause, n in causes}

    assert counts == {"kafka.os-flush": 2, None: 1}


HOSTS = [f"n{number}" for number in range(1, 7)]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[Effect], str, list[float], str]:
    """Power cuts and kills of random hosts, who leads partition 0 all the time, losses, and acks."""
    faults = []
    for _ in range(draw(st.integers(0, 5))):
        hosts = draw(st.lists(st.sampled_from(HOSTS), min_size=1, max_size=6, unique=True))
        start = draw(st.integers(0, 300))
        kind = draw(st.sampled_from(["power-cut", "kill", "disk-wipe", "bit-flip", "pause"]))
        faults.append(effect(kind, *hosts, start_s=start, healed_s=start + draw(st.integers(1, 10))))
    losses = draw(st.lists(st.integers(0, 400).map(lambda at: at + 0.5), max_size=6))
    return faults, draw(st.sampled_from(["n1", "n2", "n3"])), losses, draw(st.sampled_from(["all", "1"]))


def _harmed(faults: Sequence[Effect], leader: str, acked_s: float) -> bool:
    """Whether something was done to what a leader had, after it had it; a restart drops what is behind a change. One
    that had no process cannot have led, so that nothing follows from that."""
    own = [fault for fault in faults if leader in fault.targets]
    if any(fault.acts & Act.ENDS and fault.start_ns <= acked_s * SECOND <= fault.over_ns for fault in own):
        return True
    changed_ns = min((fault.done_ns or 0 for fault in own if fault.damage & Damage.CORRUPTS), default=FOREVER)
    harming = [fault for fault in own if fault.damage or (fault.acts & Act.ENDS and fault.start_ns > changed_ns)]
    return any((fault.done_ns or 0) >= acked_s * SECOND for fault in harming)


@examples(fast=300, nightly=10_000)
@given(scenes())
def test_nothing_is_explained_of_a_leader_that_led_all_the_time_and_was_not_harmed(
    scene: tuple[list[Effect], str, list[float], str],
) -> None:
    faults, leader, losses, acks = scene
    names = rules([lost(at) for at in losses], faults, declared({"acks": acks}), placements=placed((0, 0, leader, ALL)))

    for at, rule in zip(losses, names, strict=True):
        assert rule is None or _harmed(faults, leader, at)


@examples(fast=300, nightly=10_000)
@given(scenes(), st.sampled_from(["snapshot", "clock-offset", "client-pause"]), st.integers(0, 300))
def test_an_idle_fault_changes_nothing(
    scene: tuple[list[Effect], str, list[float], str], kind: str, start_s: int
) -> None:
    faults, leader, losses, acks = scene
    target = "consumer-7" if kind == "client-pause" else "n1"
    idle = effect(kind, target, start_s=start_s, healed_s=start_s + 5)
    of, where = declared({"acks": acks}), placed((0, 0, leader, ALL), (150, 0, "n2", ALL))
    rows = [lost(at) for at in losses]

    assert rules(rows, [*faults, idle], of, placements=where) == rules(rows, faults, of, placements=where)
