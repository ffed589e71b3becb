"""One screen says what became of the data, why, how to prevent it, what the faults did, and what it cost."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from samples import verdict

from chaoskit.judge.verdict.verdict import Found
from chaoskit.report.brief import LINES, brief

FOLDER = Path("/store/small/1")
CAUSE = {
    "rule": "kafka.os-flush", "fault": 0, "why": "flushing is left to the OS", "story": "each copy was taken",
    "remedy": "set flush.messages=1", "known": "", "faults": [0], "what": "power-cut of n1 at 8.0 s", "count": 7,
    "chain": "",
}  # fmt: skip
LOST = Found(7, True, "expected", "set flush.messages=1", (7.9, 8.1), (), (CAUSE,))
FAULT = {
    "kind": "power-cut", "targets": ["n1"], "effective": True, "healed": True, "at_ms": 8000.0,
    "healed_at_ms": 13100.0, "evidence": "no answer from n1; n1: 8 of 8 unsynced canaries gone",
}  # fmt: skip


def test_what_was_lost_stands_with_its_cause_and_its_remedy() -> None:
    text = brief(verdict(anomalies={"lost": LOST, "truncated": replace(LOST, count=3)}, faults=(FAULT,)), FOLDER)

    lines = text.splitlines()
    assert lines[lines.index("") + 1 :][:5] == [
        "  lost: 7  allowed",
        "    power-cut of n1 at 8.0 s (kafka.os-flush): each copy was taken",
        "    to prevent it: set flush.messages=1",
        "    and so: truncated 3",
        "  fault: power-cut on n1 at 8.0 s, healed at 13.1 s: no answer from n1",
    ]


def test_each_of_two_causes_stands_with_its_share() -> None:
    second = CAUSE | {"rule": "kafka.last-known-leader", "count": 3, "story": "n1 became leader", "what": "kill of n2"}
    text = brief(verdict(anomalies={"lost": replace(LOST, causes=(second, CAUSE))}), FOLDER)

    first, other = (line.strip() for line in text.splitlines() if line.startswith(("    7 by ", "    3 by ")))
    assert first == "7 by power-cut of n1 at 8.0 s (kafka.os-flush): each copy was taken"
    assert other == "3 by kill of n2 (kafka.last-known-leader): n1 became leader"


def test_a_fault_that_counts_is_proved_by_what_it_did_in_the_end() -> None:
    evidence = (
        "so far n1: 1 of 10 Produce responses dropped; n1: 13 of 130 Produce responses dropped; the rule has ended"
    )
    text = brief(verdict(faults=(FAULT | {"kind": "wire", "evidence": evidence},)), FOLDER)

    assert "healed at 13.1 s: n1: 13 of 130 Produce responses dropped\n" in text


def test_what_settings_would_allow_is_said_where_nothing_was_lost() -> None:
    would = {"tolerated": ("acks=1 (kafka.acks-one)",)}
    line = "settings that would allow a loss: acks=1 (kafka.acks-one)"

    assert line in brief(verdict(anomalies={"lost": replace(LOST, count=0)}, **would), FOLDER)
    assert line not in brief(verdict(anomalies={"lost": LOST}, **would), FOLDER)


def test_sends_that_were_never_acknowledged_are_part_of_the_cost() -> None:
    send = {"p99_ms": 13.0, "without": 90, "all_due": {"p99_ms": 7000.0}}
    text = brief(verdict(latency={"send": send}), FOLDER)

    assert "cost: send p99 > 7,000 ms; 90 of 1,200 sends never acknowledged; " in text.replace("\n    ", " ")


def test_sends_that_were_never_made_are_never_acknowledged() -> None:
    full = verdict(latency={"send": {"p99_ms": 13.0, "without": 190, "all_due": {"p99_ms": 7000.0}}})
    text = brief(replace(full, counts={**full.counts, "never_made": 100}), FOLDER)

    assert "190 of 1,300 sends never acknowledged; " in text.replace("\n    ", " ")


def test_what_a_reason_quotes_from_a_log_stands_line_by_line_and_steers_nothing() -> None:
    reasons = ("Kafka on n3 exited unexpectedly:\nERROR appending\nIOException: No space left\x1b[2J",)
    lines = brief(verdict(reasons=reasons), FOLDER).splitlines()

    first = lines.index("  Kafka on n3 exited unexpectedly:")
    assert lines[first + 1 : first + 3] == ["    ERROR appending", "    IOException: No space left\\x1b[2J"]


def test_what_the_system_did_to_the_inputs_of_a_program_is_not_put_down_to_the_program() -> None:
    twice = replace(LOST, allowed=False, examples=({"topic": "orders", "partition": 0},))
    line = "    of the inputs in orders, which chaoskit sent, not of your program"

    assert line in brief(verdict(anomalies={"duplicate": twice, "unprocessed": replace(LOST, count=0)}), FOLDER)
    assert line not in brief(verdict(anomalies={"duplicate": twice}), FOLDER)


def test_what_is_not_allowed_comes_first_and_measurements_are_left_out() -> None:
    known = {"redelivered": LOST, "unavailable": LOST, "duplicate": replace(LOST, allowed=False)}
    text = brief(verdict(anomalies=known), FOLDER)

    assert text.index("duplicate: 7  NOT ALLOWED") < text.index("redelivered: 7  allowed")
    assert "unavailable" not in text


@pytest.mark.parametrize("count", [1, 40])
def test_it_is_one_screen(count: int) -> None:
    long = "because of this and of that, which was so, and so, and not otherwise, as far as anybody knows; " * 5
    many = dict.fromkeys(["lost", "duplicate", "redelivered", "stuck", "corrupt", "phantom"], replace(LOST, why=long))
    judged = verdict(
        verdict="invalid",
        reasons=tuple(f"{number}: {long}" for number in range(count)),
        anomalies=many,
        faults=(FAULT,) * count,
    )
    lines = brief(judged, FOLDER).splitlines()

    assert len(lines) <= LINES
    assert all(len(line) <= 100 for line in lines[:-3])
    assert lines[-3:] == [
        "  run folder: /store/small/1",
        f"  in detail: {sys.prefix}/bin/chaoskit check --details /store/small/1",
        f"  to repeat it: {sys.prefix}/bin/chaoskit replay /store/small/1",
    ]
