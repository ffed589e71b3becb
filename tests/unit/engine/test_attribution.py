"""A finding is allowed where a fault explains it: on hosts that stored the partition, at a time that fits, and with
enough damage at once. Everything else is an alibi."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from chaoskit.judge.attribution import JUDGED, Attribution, Cause
from explaining import ALL_OF_0, ALL_OF_1, SECOND, Row, declared, explained, lost, moved, placed, rules
from guaranteed import effect
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from chaoskit.contract.guarantee import Damage, Effect
from chaoskit.contract.installed import anomalies, system


def test_a_loss_is_explained_by_the_power_cut_of_its_replicas() -> None:
    found = explained([lost(19)], [ALL_OF_1, ALL_OF_0])
    (row,) = found.findings.to_pylist()

    assert found.findings.schema.equals(JUDGED)
    assert (row["rule"], row["fault"]) == ("kafka.os-flush", 1)
    ((cause, count),) = found.causes["lost"]
    assert cause is not None
    assert (count, [each.kind for each in cause.faults], cause.faults[0].targets) == (
        1,
        ["power-cut"],
        ("n1", "n2", "n3"),
    )


@pytest.mark.parametrize(
    ("row", "effects"),
    [
        pytest.param(lost(2), [replace(ALL_OF_1)], id="on other hosts"),
        pytest.param(lost(59), [ALL_OF_1], id="on other hosts, at the time"),
        pytest.param(lost(20), [replace(ALL_OF_0, start_ns=90 * SECOND, healed_ns=95 * SECOND)], id="long before"),
        pytest.param(lost(60), [ALL_OF_0], id="written after the healing"),
        pytest.param(lost(19), [effect("power-cut", "n1", start_s=20, healed_s=25)], id="one of three"),
        pytest.param(
            lost(19),
            [effect("power-cut", name, start_s=start, healed_s=start + 2) for name, start in (("n1", 20), ("n2", 40))],
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


def test_two_faults_may_be_one_cause() -> None:
    both = [effect("power-cut", "n1", start_s=20, healed_s=25), effect("power-cut", "n3", start_s=21, healed_s=25)]
    found = explained([lost(19), lost(24)], [effect("kill", "n2", start_s=20), *both])

    assert found.findings["rule"].to_pylist() == ["kafka.os-flush"] * 2
    ((first, _), *_) = found.causes["lost"]
    assert first is not None
    assert sorted(each.number for each in first.faults) == [1, 2], "without the kill, which loses nothing"


def test_of_two_faults_the_next_one_after_the_acknowledgement_is_the_cause() -> None:
    again = replace(ALL_OF_0, start_ns=40 * SECOND, healed_ns=45 * SECOND)

    found = explained([lost(19), lost(30), lost(47)], [ALL_OF_0, again])
    assert found.findings["fault"].to_pylist() == [0, 1, 1]


def test_the_replicas_are_those_at_the_time() -> None:
    away = placed((0, 0, "n1", "n1 n2 n3"), (15, 0, "n4", "n4 n5 n6"))

    assert rules([lost(19)], [ALL_OF_0], placements=away) == [None]
    assert rules([lost(59)], [ALL_OF_1], placements=away) == ["kafka.os-flush"]


def test_replicas_that_nobody_recorded_may_be_anywhere() -> None:
    assert rules([lost(19)], [ALL_OF_0], placements=placed()) == ["kafka.os-flush"]
    wiped = effect("disk-wipe", "n1", "n2", "n3", start_s=20, healed_s=25)
    assert rules([lost(19)], [wiped], placements=placed()) == ["kafka.disks-lost"], "what was destroyed was no flush"


def test_settings_alone_may_be_the_cause() -> None:
    reads = replace(declared(), consumer={"isolation.level": "read_uncommitted"})
    found = explained([{**lost(5), "anomaly": "aborted-read"}], [], reads)

    ((cause, _),) = found.causes["aborted-read"]
    assert cause is not None
    assert (cause.rule.id, cause.faults) == ("kafka.read-uncommitted", ())


def test_a_fault_of_a_client_explains_what_needs_no_place() -> None:
    crash = Effect("client-kill", ("producer-0",), False, Damage.NONE, 20 * SECOND, 21 * SECOND)
    twice = {**lost(20.5), "anomaly": "duplicate"}

    assert rules([twice], [crash], declared({"enable.idempotence": False})) == ["kafka.retries"]
    assert rules([{**twice, **lost(80), "anomaly": "duplicate"}], [crash], declared({"enable.idempotence": False})) == [
        None
    ]


def test_what_is_noticed_much_later_was_written_at_the_time() -> None:
    conflict = {"anomaly": "offset-conflict", "at_ns": 500 * SECOND, "topic": "log-0", "partition": 0}
    first = {"written_ns": 19 * SECOND, "acked_ns": 19 * SECOND + 1}
    second = {"other_written_ns": 26 * SECOND, "other_acked_ns": 26 * SECOND + 1}
    long_ago = {"written_ns": 300 * SECOND, "acked_ns": 300 * SECOND}

    assert rules([{**conflict, **first, **second}], [ALL_OF_0]) == ["kafka.os-flush"]
    assert rules([{**conflict, **long_ago, **second}], [ALL_OF_0]) == ["kafka.os-flush"], "one of them fits"
    assert rules([{**conflict, **long_ago}], [ALL_OF_0]) == [None]


def test_an_implied_anomaly_has_the_cause_of_its_root() -> None:
    assert rules([{**lost(19), "anomaly": "rewound", "at_ns": 30 * SECOND}], [ALL_OF_0]) == ["kafka.os-flush"]
    assert rules([{**lost(19), "anomaly": "rewound", "at_ns": 10 * SECOND}], [ALL_OF_0]) == [None], "before the fault"


def test_a_flipped_bit_explains_only_what_was_in_its_file() -> None:
    flip = effect("bit-flip", "n1", start_s=20, healed_s=20)
    offsets = replace(flip, partitions=frozenset({("__consumer_offsets", 12)}))
    segment = replace(flip, partitions=frozenset({("log-0", 0)}))
    gone = {**lost(19), "anomaly": "truncated"}
    back = {**lost(19), "anomaly": "commit-regression", "at_ns": 30 * SECOND}

    assert rules([gone], [flip]) == rules([gone], [segment]) == ["kafka.files-changed"]
    assert rules([gone], [offsets]) == [None]
    assert rules([back], [offsets]) == ["kafka.files-changed"]
    assert rules([{**gone, "partition": 1}], [segment]) == [None]


def test_a_replica_may_lag_as_long_as_an_earlier_fault_lasts() -> None:
    unclean = declared({"acks": "all"}, **{"unclean.leader.election.enable": True})
    held = effect("pause", "n2", start_s=10, healed_s=75)
    elsewhere = effect("pause", "n5", start_s=10, healed_s=75)
    wrong_clock = replace(held, delays=False)
    killed = effect("kill", "n1", "n3", start_s=60, healed_s=70)
    elected = moved(61)

    assert rules([lost(15)], [held, killed], unclean, placements=elected) == ["kafka.unclean-election"]
    for beside in ([], [elsewhere], [wrong_clock]):
        assert rules([lost(15)], [*beside, killed], unclean, placements=elected) == [None]


def test_a_clock_that_is_ahead_explains_what_is_old() -> None:
    ahead = replace(effect("clock-offset", "n1", start_s=60, healed_s=65), ahead_ns=8 * 24 * 3600 * SECOND)
    expired = {**lost(5), "anomaly": "expired"}

    assert rules([expired], [ahead]) == ["kafka.retention"]
    assert rules([{**expired, "partition": 1}], [ahead]) == [None], "not on that host"


@pytest.mark.parametrize(
    ("value", "other_value", "rule"), [(5, 8, "kafka.in-flight"), (5, 7, "kafka.acks-one"), (7, 8, "kafka.acks-one")]
)
def test_what_follows_from_a_loss_is_explained_by_the_loss(value: int, other_value: int, rule: str) -> None:
    """A later message is at a lower position because an earlier one is lost, not because it was sent again."""
    killed = effect("kill", "n1", start_s=20, healed_s=25)
    at_once = declared({"acks": "1", "enable.idempotence": False})
    inverted = {**lost(19), "anomaly": "reordered", "value": value, "other_value": other_value}

    found = rules([{**lost(19), "value": 7}, inverted], [killed], at_once, placements=moved(21))
    assert found == ["kafka.acks-one", rule]


def test_a_known_issue_is_the_last_resort() -> None:
    """A rule that allows comes before a defect that only explains."""
    found = system("pulsar", "system").guarantees
    known = [rule.id for rule in found.rules if rule.known]

    assert known
    attribution = Attribution(found, anomalies(), declared(), [], placed())
    assert [rule.id for rule in attribution._rules("lost")][-len(known) :] == known


def test_a_partition_of_the_network_concerns_the_hosts_at_its_other_end() -> None:
    apart = replace(effect("partition", "n5", start_s=20, healed_s=25), on_links=True)

    one = declared({"acks": "1"})
    assert rules([lost(21)], [apart], one, placements=moved(22)) == ["kafka.acks-one"]
    assert rules([lost(21)], [replace(apart, on_links=False)], one, placements=moved(22)) == [None]


def test_a_torn_transaction_was_written_before_the_fault_that_tore_it() -> None:
    torn = {"anomaly": "torn-transaction", "topic": "log-0", "partition": 1, "at_ns": 19 * SECOND}

    assert rules([torn], [ALL_OF_0]) == ["kafka.os-flush"]
    assert rules([{**torn, "at_ns": 100 * SECOND}], [ALL_OF_0]) == [None]


def test_a_measurement_needs_no_cause() -> None:
    found = explained([{**lost(19), "anomaly": "unavailable"}], [ALL_OF_0])

    assert "unavailable" not in found.causes
    assert found.findings["rule"].to_pylist() == [None]


Leads = dict[int, list[tuple[float, str]]]
"""By partition: since when (s) which host leads."""

HOSTS = [f"n{number}" for number in range(1, 7)]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[Effect], dict[int, list[str]], Leads, list[tuple[int, float]], int, bool]:
    """Power cuts of random hosts, replicas of two partitions, who led them since when, losses, min.insync.replicas, and
    acks=all or 1."""
    cuts = []
    for _ in range(draw(st.integers(0, 4))):
        hosts = draw(st.lists(st.sampled_from(HOSTS), min_size=1, max_size=6, unique=True))
        start = draw(st.integers(0, 300))
        kind = draw(st.sampled_from(["power-cut", "kill"]))
        cuts.append(effect(kind, *hosts, start_s=start, healed_s=start + draw(st.integers(1, 10))))
    replicas = {
        number: draw(st.lists(st.sampled_from(HOSTS), min_size=3, max_size=3, unique=True)) for number in range(2)
    }
    changes = st.lists(st.integers(0, 320).map(lambda s: s + 0.25), max_size=3, unique=True).map(sorted)
    leads = {
        number: [(0.0, hosts[0]), *((at_s, draw(st.sampled_from(hosts))) for at_s in draw(changes))]
        for number, hosts in replicas.items()
    }
    # Halves of a second, while faults begin and end at whole ones: no time is at an edge.
    losses = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 400).map(lambda s: s + 0.5)), max_size=6))
    return cuts, replicas, leads, losses, draw(st.integers(1, 3)), draw(st.booleans())


def end_of(cut: Effect) -> float:
    assert cut.healed_ns is not None
    return cut.healed_ns / SECOND


def since(cuts: Sequence[Effect], cut: Effect) -> float:
    """When the first of the faults began that this one follows without a pause, in s."""
    before = [each for each in cuts if each.start_ns < cut.start_ns <= end_of(each) * SECOND]
    return min([cut.start_ns / SECOND, *(since(cuts, each) for each in before)])


def may_explain(  # noqa: PLR0917 - a scene
    cuts: Sequence[Effect],
    replicas: Sequence[str],
    led: Sequence[tuple[float, str]],
    acked_s: float,
    insync: int,
    all_replicas: bool,
) -> Iterator[bool]:
    """Whether a loss has a cause, from the definition: as many replicas as must have a message ended without a shutdown
    at one time, and one of them forgot it (KIP-966); or the only one that had to have it failed, and another one led
    afterwards; and the message was there at the time."""
    held = [cut for cut in cuts if set(cut.targets) & set(replicas)]
    near = [
        cut
        for cut in cuts
        if acked_s <= end_of(cut) + 30
        and acked_s >= min(cut.start_ns / SECOND - (60 if cut.kind == "power-cut" else 30), since(held, cut) - 30) - 0.1
    ]
    for instant in [cut.start_ns for cut in near]:
        here = [cut for cut in near if cut.start_ns <= instant < (end_of(cut) + 5) * SECOND]
        down = {(host, cut.kind) for cut in here for host in cut.targets if host in replicas}
        forgot = any(kind == "power-cut" for _, kind in down)
        yield forgot and len({host for host, _ in down}) >= insync
    if not all_replicas:
        for (_, before), (at_s, host) in pairwise(led):
            yield any(
                host != before
                and before in cut.targets
                and acked_s - 0.001 <= at_s
                and cut.start_ns / SECOND - 0.1 <= at_s <= end_of(cut) + 30
                for cut in near
            )


@examples(fast=300, nightly=10_000)
@given(scenes())
def test_explained_exactly_where_a_fault_may_be_the_cause(
    scene: tuple[list[Effect], dict[int, list[str]], Leads, list[tuple[int, float]], int, bool],
) -> None:
    cuts, replicas, leads, losses, insync, all_replicas = scene
    of = declared({"acks": "all" if all_replicas else "1"}, **{"min.insync.replicas": insync})
    where = placed(
        *((at_s, number, host, " ".join(replicas[number])) for number, led in leads.items() for at_s, host in led)
    )

    found = rules([lost(at_s, number) for number, at_s in losses], cuts, of, placements=where)

    expected = [
        any(may_explain(cuts, replicas[number], leads[number], at_s, insync, all_replicas)) for number, at_s in losses
    ]
    assert [rule is not None for rule in found] == expected


def test_causes_are_counted() -> None:
    found = explained([lost(19), lost(19.5), lost(200)], [ALL_OF_0]).causes["lost"]
    counts: dict[str | None, int] = {cause.rule.id if isinstance(cause, Cause) else None: n for cause, n in found}

    assert counts == {"kafka.os-flush": 2, None: 1}
