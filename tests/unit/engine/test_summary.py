"""The summary tells a tired engineer what was lost, an example, the setting, and what to change."""

from __future__ import annotations

import sys
from pathlib import Path

from samples import verdict

from chaoskit.judge.verdict.verdict import Found, Lasted, LastedDetail
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.report.comparison_table import COLUMNS, comparison_rows
from chaoskit.report.summary import describe_example, summary

FOLDER = Path("/store/small/1")
EXAMPLE = {
    "topic": "log-0",
    "partition": 0,
    "value": 2 << PRODUCER_SHIFT | 1234,
    "position": 56789,
    "op": 41,
    "operation": "send by producer-2 at 7.912 s, ok at 7.914 s",
    "detail": "the final read passed its position",
}
LOST = Found(12345, False, "acks=1: the leader alone acknowledges", "set acks=all", (7.9, 8.1), (EXAMPLE,) * 3)
FAULT = {
    "kind": "power-cut",
    "targets": ["n1", "n2"],
    "effective": True,
    "healed": True,
    "at_ms": 8000.0,
    "healed_at_ms": 13100.0,
    "evidence": "n1, n2 answer nothing",
}


def test_what_was_lost_stands_with_its_setting_and_its_remedy() -> None:
    text = summary(verdict(anomalies={"lost": LOST}), FOLDER)

    assert "  lost: 12,345  NOT ALLOWED, between 7.900 s and 8.100 s\n" in text
    assert "    why: acks=1: the leader alone acknowledges\n" in text
    assert "    to prevent it: set acks=all\n" in text


def test_an_example_names_the_message_and_the_operation() -> None:
    assert describe_example(EXAMPLE) == (
        "log-0/0: message 1,234 of producer 2, position 56,789, "
        "op 41 (send by producer-2 at 7.912 s, ok at 7.914 s); the final read passed its position"
    )


def test_positions_are_told_in_the_notation_of_the_system() -> None:
    text = describe_example({**EXAMPLE, "position_text": "12:345"})
    audit = {"complete": True, "end_positions": {"log-0/0": 99, "log-0/1": 0}, "last_positions": {"log-0/0": "12:345"}}

    assert "producer 2, position 12:345, op 41" in text
    assert "final read: complete: log-0/0 ends after 12:345, log-0/1 ends at 0\n" in summary(
        verdict(audit=audit), FOLDER
    )


def test_an_example_names_what_contradicts_it() -> None:
    other = {"other_value": 1 << PRODUCER_SHIFT | 6, "other_op": 8, "other_operation": "send"}
    example = {"topic": "t", "partition": 1, "value": 5, **other}

    assert (
        describe_example(example) == "t/1: message 5 of producer 0; conflicts with message 6 of producer 1, op 8 (send)"
    )


def test_an_example_names_the_end_of_a_log_that_went_back() -> None:
    example = {"topic": "t", "partition": 1, "value": 5, "other_position": 9}

    assert describe_example(example) == "t/1: message 5 of producer 0; the log ends at 9"


def test_a_few_examples_are_enough() -> None:
    assert summary(verdict(anomalies={"lost": LOST}), FOLDER).count("for example") == 2


def test_what_is_allowed_is_told_all_the_same() -> None:
    text = summary(verdict(anomalies={"duplicate": Found(2, True, "retries without idempotence")}), FOLDER)

    assert "  duplicate: 2  allowed\n    why: retries without idempotence\n" in text


def test_how_long_findings_lasted_is_told() -> None:
    example = {"topic": "t", "partition": 1, "since_ns": 20_500_000_000, "at_ns": 26_512_000_000, "lasted_ms": 6_012.0}
    example |= {"other_op": 3, "other_operation": "assign by a"}
    lasted = Lasted(45.2, 6_012.0, {"it ended": LastedDetail(4, 5_900.0, 6_012.0), "it left": LastedDetail(14, 40, 80)})
    found = Found(18, True, "a measurement", between_s=(7.9, 26.5), examples=(example,), lasted_ms=lasted)
    text = summary(verdict(anomalies={"unowned": found}), FOLDER)

    assert "  unowned: 18  allowed, between 7.900 s and 26.500 s\n" in text
    assert "    4 it ended: 5,900 ms in the median, 6,012 ms at most\n" in text
    assert "    14 it left: 40 ms in the median, 80 ms at most\n" in text
    assert "    for example: t/1 for 6,012 ms from 20.500 s: after op 3 (assign by a)\n" in text
    assert describe_example({**example, "op": 9, "operation": "assign by b"}).endswith("; until op 9 (assign by b)")


def test_no_remedy_is_told_for_what_was_not_found() -> None:
    assert "to prevent it" not in summary(verdict(anomalies={"lost": Found(0, True, "x", "set acks=all")}), FOLDER)


def test_a_run_without_anomalies_says_so() -> None:
    assert "What was found\n  no anomaly\n" in summary(verdict(), FOLDER)


def test_a_fault_is_told_with_its_evidence() -> None:
    text = summary(verdict(faults=(FAULT,)), FOLDER)

    assert "  fault: power-cut on n1, n2 at 8.0 s, healed at 13.1 s\n    evidence: n1, n2 answer nothing\n" in text


def test_a_fault_without_effect_and_one_that_was_not_healed_stand_out() -> None:
    failed = {**FAULT, "effective": False, "healed": False, "healed_at_ms": None, "targets": []}

    text = summary(verdict(faults=(failed,)), FOLDER)

    assert "  fault: power-cut on nothing at 8.0 s, NOT healed  NO EFFECT\n" in text


def test_the_first_line_and_the_last_ones_are_what_one_looks_for() -> None:
    lines = summary(verdict(verdict="invalid", reasons=("3 lost: not allowed",)), FOLDER).splitlines()

    assert lines[:2] == ["KEPT all 1,100 acknowledged messages", "INVALID  small/20260101T000000-abc  seed 7"]
    assert lines[-5:] == [
        "Verdict: invalid",
        "  3 lost: not allowed",
        "  run folder: /store/small/1",
        f"  to repeat it: {sys.prefix}/bin/chaoskit replay /store/small/1",
        f"  to try another setting: {sys.prefix}/bin/chaoskit run /store/small/1 --with KEY=VALUE",
    ]


def test_an_imported_history_cannot_be_run_again() -> None:
    assert "replay" not in summary(verdict(replayable=False), FOLDER)


def test_an_incomplete_run_is_told_as_such() -> None:
    text = summary(
        verdict(
            audit={
                "complete": False,
                "end_positions": {},
                "unread": {
                    "log-0/0": {"from": 6906, "to": 11021},
                    "log-0/1": {},
                    "log-0/2": {"from": 9, "to": 20, "read_to": "12:8", "ends_after": "13:5"},
                    "log-0/3": {"from": 0, "to": 20, "read_to": "", "ends_after": "13:5"},
                },
            },
            liveness={"recovered": False, "bound_s": 60.0, "took_s": 60.0},
            availability={"longest_unavailable_ms": 9000.0, "recovered_after_heal_ms": None},
            latency={"send": {}},
        ),
        FOLDER,
    )

    assert "  final read: INCOMPLETE\n    log-0/0 was not read from position 6,906 to 11,021\n" in text
    assert "    log-0/1 was not read\n" in text
    assert "    log-0/2 was not read after 12:8; it ends after 13:5\n" in text
    assert "    log-0/3 was not read; it ends after 13:5\n" in text
    assert "  cluster: did NOT recover within 60.0 s after healing (bound 60 s)\n" in text
    assert "  longest time without an acknowledged send: 9,000 ms\n" in text


def test_percentiles_come_with_the_sends_that_have_none() -> None:
    lines = summary(verdict(), FOLDER).splitlines()

    at = lines.index("  send: p50 1.0 ms, p99 2.0 ms, p99.9 3.0 ms, max 4.0 ms")
    whole = "p50 10.0 ms, p99 20000.0 ms, p99.9 20100.0 ms, max 20200.0 ms"
    assert lines[at + 1] == f"    100 sends have no such latency; with these, until given up: {whole}"


def test_latency_outside_faults_and_under_them_is_told_apart_if_there_were_any() -> None:
    calm, disturbed = summary(verdict(), FOLDER), summary(verdict(faults=(FAULT,)), FOLDER)

    assert "  send outside faults:" not in calm
    assert "  send outside faults: p50 1.0 ms, p99 2.0 ms," in disturbed
    assert "  send under faults: p50 10.0 ms, p99 20000.0 ms," in disturbed
    assert "  send after faults" not in disturbed, "there were no sends"


def test_sends_that_were_due_and_never_made_are_told() -> None:
    counts = {**verdict().counts, "never_made": 5_000}

    assert "60 unknown, 5,000 due and never made; 1,150 received, probes of the final read included\n" in summary(
        verdict(counts=counts), FOLDER
    )


def test_the_worst_partition_is_told_first() -> None:
    partitions = [
        {"partition": "log-0/2", "longest_unavailable_ms": 18_750.0, "from_s": 4.2, "recovered": True}
        | {"recovered_after_heal_ms": 17_750.0, "recovered_after_undoing_ms": 17_900.0},
        {"partition": "log-0/0", "longest_unavailable_ms": 5_968.0, "from_s": 4.2, "recovered": True}
        | {"recovered_after_heal_ms": None, "recovered_after_undoing_ms": None},
    ]
    availability = {
        "longest_unavailable_ms": 18_750.0,
        "recovered_after_heal_ms": 17_750.0,
        "recovered_after_undoing_ms": 17_900.0,
        "not_recovered": 0,
        "partitions": partitions,
    }

    text = summary(verdict(availability=availability), FOLDER)

    again = "the next one 17,750 ms after healing, 17,900 ms after the undoing began"
    assert f"an acknowledged send: 18,750 ms to log-0/2, the worst partition; {again}\n" in text
    assert f"    log-0/2: 18,750 ms from 4.2 s; {again}\n    log-0/0: 5,968 ms from 4.2 s\n" in text


def test_no_acknowledgement_after_healing_is_told() -> None:
    times = {"recovered_after_heal_ms": 6_000.0, "recovered_after_undoing_ms": None, "not_recovered": 1}
    fault = {**FAULT, "unavailable_ms": 9_000.0, "unavailable_in": "log-0/1", **times}

    text = summary(verdict(faults=(fault,), availability={"longest_unavailable_ms": 9_000.0, **times}), FOLDER)

    never = "no send was acknowledged again, though some were due or open until 6,000 ms after healing"
    assert f"    at most 9,000 ms without an acknowledged send to log-0/1; {never}\n" in text
    assert f"an acknowledged send: 9,000 ms; {never}\n" in text


def test_a_killed_run_says_nothing_of_recovery() -> None:
    assert "  cluster:" not in summary(verdict(liveness={"recovered": None}), FOLDER)


def test_runs_are_compared_by_settings_cost_and_loss() -> None:
    scenario = {
        "name": "fast",
        "cluster": {"config": {"log.flush.interval.messages": 1}, "topic": {"min.insync.replicas": 2}},
        "workload": {"producer": {"acks": "all"}},
        "expect": {"lost": "some"},
    }

    plain = {"name": "plain", "cluster": {}, "workload": {}}
    first, second = comparison_rows([scenario, plain], [verdict(anomalies={"lost": LOST}), verdict()])

    assert len(first) == len(COLUMNS)
    assert first == (
        "fast: log.flush.interval.messages=1, min.insync.replicas=2, acks=all",
        "5,000",
        "1.00 ms / 2.00 ms",
        "20.0 s",
        "-",
        "250 ms",
        "100",
        "1,100",
        "12,345",
        "0",
        "valid: NOT as expected",
    )
    assert (second[0], *second[8:]) == ("plain: defaults", "0", "0", "valid: as guaranteed")


def test_what_differs_between_compared_runs_is_told() -> None:
    config = {"brokerDeduplicationEnabled": True}
    scenarios = [
        {"name": "a", "seed": 1, "cluster": {"hosts": 3, "config": {"broker": config}}, "workload": {"kind": "log"}},
        {"name": "b", "seed": 2, "cluster": {"hosts": 3}, "workload": {"kind": "log", "resend": "at-once"}},
    ]
    faults = ({**FAULT, "at_stake": 0},)
    doubtful = verdict(anomalies={"duplicate": Found(7, True, "x")}, faults=faults)

    first, second = comparison_rows(scenarios, [verdict(), doubtful])

    assert first[0] == "a: brokerDeduplicationEnabled=true"
    assert second[0] == "b: workload.resend=at-once"
    assert second[8:10] == ("0?", "7?")


def test_each_cause_is_told_with_its_faults_and_its_rule() -> None:
    cut = {"rule": "kafka.os-flush", "known": "", "count": 3_000, "what": "power-cut of n1, n2 at 21.1 s"}
    known = {"rule": "pulsar.batch-dropped", "known": "pull request 5491", "count": 289, "what": ""}
    counts = {"sent": 9_000, "acked": 9_000, "failed": 0, "indeterminate": 0, "received": 5_711}
    anomalies = {"lost": Found(3_289, True, "as declared", causes=(cut, known))}
    text = summary(verdict(anomalies=anomalies, counts=counts), FOLDER)

    assert text.startswith(
        "LOST 3,289 of 9,000 acknowledged messages (0.7 s of traffic), allowed by your settings (kafka.os-flush: "
    )
    assert "    3,000 by power-cut of n1, n2 at 21.1 s (rule kafka.os-flush)\n" in text
    assert "    289 by settings alone (known issue pulsar.batch-dropped)\n" in text


def test_nothing_is_none_as_long_as_the_final_read_is_incomplete() -> None:
    audit = {"complete": False, "end_positions": {}}
    text = summary(verdict(audit=audit, anomalies={"lost": Found(0, True, "expected")}), FOLDER)

    assert "  lost: none found, but the final read is incomplete\n" in text


def test_faults_of_series_that_were_dropped_are_told() -> None:
    liveness = {"recovered": True, "bound_s": 60.0, "took_s": 3.1, "dropped_faults": 2}

    assert "  2 faults were dropped: the load ended before their turn\n" in summary(verdict(liveness=liveness), FOLDER)
