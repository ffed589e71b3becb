"""The headline says what happened to acknowledged messages before it says what is allowed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from samples import verdict

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.judge.verdict.headline import Missing, headline, missing_of
from chaoskit.judge.verdict.verdict import Found
from chaoskit.model.tables import OPERATIONS

CUT = {"rule": "kafka.os-flush", "what": "power-cut of n1 at 21.1 s", "count": 40_128}

ONE = {"rule": "r", "what": "", "count": 1}


@pytest.mark.parametrize(
    ("acked", "anomalies", "complete", "said"),
    [
        (0, {}, True, "UNKNOWN: nothing was acknowledged"),
        (9_000, {}, True, "KEPT all 9,000 acknowledged messages"),
        (9_000, {}, False, "UNKNOWN: the final read is incomplete"),
        (
            9_000,
            {"reprocessed": Found(5_063, True, "a measurement"), "late": Found(3, True, "a measurement")},
            True,
            "KEPT all 9,000 acknowledged messages; 5,063 reprocessed",
        ),
        (
            9_000,
            {"reprocessed": Found(5_063, False, "expected none")},
            True,
            "KEPT all 9,000 acknowledged messages; not allowed: 5,063 reprocessed",
        ),
        (
            75_986,
            {"lost": Found(40_128, True, "x", causes=(CUT,))},
            True,
            "LOST 40,128 of 75,986 acknowledged messages, allowed by your settings (kafka.os-flush: power-cut of n1 at "
            "21.1 s)",
        ),
        (
            9_000,
            {"lost": Found(1, False, "x"), "duplicate": Found(3, False, "y"), "late": Found(3, True, "y")},
            True,
            "LOST 1 of 9,000 acknowledged messages, though your settings forbid it; not allowed: 3 duplicate",
        ),
        (
            8_041,
            {"unacked-vanished": Found(185, False, "x"), "dropped": Found(3, True, "y", causes=({**ONE, "count": 3},))},
            True,
            "GONE 3 of 8,041 acknowledged messages, which were dropped by their queue, allowed by your settings (r); "
            "LOST 185 of 8,041 acknowledged messages, which vanished before a consumer had settled them, though your "
            "settings forbid it",
        ),
        (900, {"lost": Found(5, True, "")}, True, "LOST 5 of 900 acknowledged messages, as expected"),
        (
            900,
            {"lost": Found(1, False, "expected lost: none", causes=(ONE,))},
            True,
            "LOST 1 of 900 acknowledged messages, though you expected otherwise; your settings allow it (r)",
        ),
        (
            900,
            {"lost": Found(1, False, "known issue", causes=({**ONE, "known": "https://x/1"},))},
            True,
            "LOST 1 of 900 acknowledged messages, a known issue (r) that you did not accept",
        ),
        (
            900,
            {"lost": Found(2, False, "expected lost: none", causes=(ONE,))},
            True,
            "LOST 2 of 900 acknowledged messages, though your settings forbid it",
        ),
        (
            9_008,
            {"duplicate": Found(1_908, True, "x", causes=(CUT,))},
            True,
            "KEPT all 9,008 acknowledged messages; 1,908 duplicate",
        ),
        (
            1_000,
            {"expired": Found(500, False, "x")},
            True,
            "GONE 500 of 1,000 acknowledged messages, which were deleted by the system, though your settings forbid it",
        ),
        (
            9_000,
            {"lost": Found(0, False, "expected")},
            True,
            "KEPT all 9,000 acknowledged messages; expected but not found: lost",
        ),
        (
            9_000,
            {"lost": Found(41_128, True, "expected", causes=(CUT,))},
            True,
            "LOST 41,128 messages, of which at most 9,000 were acknowledged, as expected",
        ),
        (
            1,
            {"lost": Found(3, False, "x", messages=1)},
            True,
            "LOST 1 of 1 acknowledged messages (for several readers: 3 deliveries), though your settings forbid it",
        ),
        (
            0,
            {"phantom": Found(2, False, "x")},
            True,
            "UNKNOWN: nothing was acknowledged; not allowed: 2 phantom",
        ),
        (
            100,
            {"lost": Found(4, True, "x", causes=(ONE | {"what": "cut", "count": 2},) * 2)},
            True,
            "LOST 4 of 100 acknowledged messages, allowed by your settings (r: cut)",
        ),
        (
            100,
            {"lost": Found(4, True, "x", causes=tuple(ONE | {"what": f"cut {n}"} for n in range(4)))},
            True,
            "LOST 4 of 100 acknowledged messages, allowed by your settings (r: cut 0; cut 1 and 2 more)",
        ),
        (
            11_021,
            {"lost": Found(0, True, "x"), "unseen": Found(4_115, True, "y")},
            False,
            "UNKNOWN: 4,115 of 11,021 acknowledged messages were not read back, and may be lost",
        ),
        (
            50,
            {"lost": Found(3, True, "x"), "lost-entry": Found(4, True, "x", causes=(ONE | {"count": 4},))},
            True,
            "LOST 4 of 50 acknowledged messages, allowed by your settings (r)",
        ),
    ],
)  # fmt: skip
def test_it_says_what_happened(acked: int, anomalies: dict[str, Any], complete: bool, said: str) -> None:
    assert headline(acked, anomalies, complete=complete) == said


def test_nothing_is_kept_above_a_doubt() -> None:
    one, two = (verdict(verdict="unknown", reasons=("kill had no effect: gone", "x")[:count]) for count in (1, 2))

    assert one.headline == ("UNKNOWN: kill had no effect: gone; none of 1,100 acknowledged messages was found lost")
    assert two.headline.startswith("UNKNOWN: kill had no effect: gone (and 1 more); none of")


def test_a_run_that_is_invalid_has_kept_nothing_for_sure_if_it_has_problems() -> None:
    wrong = {"anomalies": {"duplicate": Found(3, False, "y")}, "verdict": "invalid", "reasons": ("3 duplicate", "x")}

    assert verdict(**wrong).headline == "KEPT all 1,100 acknowledged messages; not allowed: 3 duplicate"
    assert verdict(**wrong, problems=("x",)).headline == (
        "none of 1,100 acknowledged messages was found lost; not allowed: 3 duplicate; in doubt: x"
    )


def test_a_valid_history_without_a_final_read_is_not_called_unknown() -> None:
    audit = {"audit": {"complete": False, "end_positions": {}}}

    assert verdict(**audit).headline == "KEPT all 1,100 acknowledged messages"
    assert verdict(**audit, verdict="unknown", reasons=("x",)).headline == "UNKNOWN: the final read is incomplete"


def test_a_message_that_several_readers_lack_is_one_message() -> None:
    rows = [{"anomaly": "lost", "topic": "feed", "partition": 0, "value": value} for value in (1, 1, 1, 2, None, None)]
    table = pa.Table.from_pylist(rows, FINDINGS)

    assert missing_of("lost", table, OPERATIONS.empty_table()) == Missing(4)
    assert missing_of("duplicate", table, OPERATIONS.empty_table()) == Missing()


def test_what_the_final_read_sent_is_no_message_of_the_load() -> None:
    did = [("send", "producer-0"), ("send", "auditor"), ("receive", "auditor")]
    operations = pa.Table.from_pylist([{"op": op, "f": f, "client": by} for op, (f, by) in enumerate(did)], OPERATIONS)
    rows = [{"anomaly": "lost", "topic": "feed", "partition": 0, "value": op, "op": op} for op in (0, 1, 1, 2)]

    assert missing_of("lost", pa.Table.from_pylist(rows, FINDINGS), operations) == Missing(2, 2)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (8, "LOST 8 of 6,010 acknowledged messages and 8,618 probes of the final read"),
        (0, "LOST 0 of 6,010 acknowledged messages and 8,618 probes of the final read"),
        (4, "LOST 4 of 6,010 acknowledged messages (for several readers: 8 deliveries) and 8,618 probes"),
    ],
)
def test_probes_are_told_apart(messages: int, said: str) -> None:
    anomalies = {
        "lost": Found(8_618 + max(messages, 8 if messages else 0), False, "x", messages=messages, probes=8_618)
    }

    assert headline(6_010, anomalies, complete=True).startswith(said)
