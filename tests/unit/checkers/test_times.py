from __future__ import annotations

from story import Story, sent

from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.contract.workloads.datamodel import LEDGER

SECOND = 1_000_000_000
MS = 1_000_000


def load(*waits_ms: float, faults: tuple[FaultWindow, ...] = ()) -> Story:
    """Sends every 10 ms, each acknowledged after 1 ms or, for the last ones, as told."""
    story = Story(faults=faults, bound_ns=2 * SECOND)
    for index, wait_ms in enumerate([1.0] * 200 + list(waits_ms)):
        due_ns = 10 * MS * index
        story.op("p", "send", sent("t/0", index, index, intended_ns=due_ns), start=due_ns, lasts=int(wait_ms * MS))
    return story


def test_unavailable_while_sends_were_due() -> None:
    story = load(1500, 1490, 1480)

    (finding,) = story.only("unavailable")
    assert (finding["op"], finding["other_op"], finding["at_ns"]) == (200, 199, 200 * 10 * MS)


def test_unavailable_to_the_end() -> None:
    story = load()
    story.op("p", "send", sent("t/0", 200, intended_ns=2 * SECOND), start=2 * SECOND, lasts=0, outcome="info")
    assert story.only("unavailable") == [], "until when the load lasted is not known"

    story.load_end_ns = 5 * SECOND

    (finding,) = story.only("unavailable")
    assert (finding["op"], finding["other_op"], finding["at_ns"]) == (200, 199, 2 * SECOND)
    assert finding["detail"] == "there was no further acknowledgement"


def test_a_producer_that_is_stuck_is_neither_available_nor_recovers() -> None:
    story = load(faults=(FaultWindow(7, "kill", 1980 * MS, 1985 * MS, 1995 * MS),))
    story.load_end_ns, story.stuck_ns = 17 * SECOND, 2 * SECOND

    (finding,) = story.only("unavailable")
    assert (finding.get("op"), finding["other_op"], finding["at_ns"]) == (None, 199, 2 * SECOND)
    assert finding["detail"] == "there was no further acknowledgement"
    (finding,) = story.only("slow-recovery")
    assert (finding.get("op"), finding["at_ns"]) == (None, 1995 * MS)

    story.model = LEDGER
    assert not {"unavailable", "slow-recovery"} & story.names(), "a ledger may have ended"


def test_unavailable_as_long_as_a_send_is_open() -> None:
    story = load()
    for index, lasts in ((200, 1 * MS), (201, 4 * SECOND)):  # two sends: one is served, the other one waits on
        story.op("p", "send", sent("t/0", index, index, intended_ns=2 * SECOND), start=2 * SECOND, lasts=lasts)

    (finding,) = story.only("unavailable")
    assert (finding["op"], finding["at_ns"]) == (201, 2001 * MS)


def test_a_ledger_that_is_given_up_is_not_unavailable_to_the_end() -> None:
    story = load()
    story.model, story.load_end_ns = LEDGER, 9 * SECOND
    story.op("p", "add", sent("t/0", 200, intended_ns=2 * SECOND), start=2 * SECOND, lasts=0, outcome="info")

    assert story.only("unavailable") == []


def test_no_load_is_not_unavailability() -> None:
    story = load()
    story.op("p", "send", sent("t/0", 500, 500, intended_ns=20 * SECOND), start=20 * SECOND, lasts=1 * MS)

    assert story.names() == {"unseen"}, "nobody read anything"


def test_slow_recovery_after_healing() -> None:
    story = load(4000, faults=(FaultWindow(7, "kill", 1990 * MS, 1995 * MS, 2 * SECOND),))

    (finding,) = story.only("slow-recovery")
    assert (finding["op"], finding["at_ns"], finding["detail"]) == (200, 2 * SECOND, "after kill (fault 7)")


def test_no_acknowledgement_after_healing_is_no_recovery() -> None:
    story = load(faults=(FaultWindow(7, "kill", 1990 * MS, 1995 * MS, 2 * SECOND),))
    story.op("p", "send", sent("t/0", 200, intended_ns=2100 * MS), start=2100 * MS, lasts=500 * MS, outcome="fail")

    (finding,) = story.only("slow-recovery")
    assert (finding["op"], finding["at_ns"]) == (200, 2 * SECOND)
    assert finding["detail"] == "after kill (fault 7): no acknowledgement"


def test_a_ledger_that_is_given_up_does_not_have_to_recover() -> None:
    story = load(faults=(FaultWindow(7, "kill", 1990 * MS, 1995 * MS, 2 * SECOND),))
    story.model = LEDGER
    story.op("p", "add", sent("t/0", 200, intended_ns=2100 * MS), start=2100 * MS, lasts=500 * MS, outcome="fail")

    assert story.only("slow-recovery") == []


def test_no_acknowledgement_at_all_is_no_recovery_either() -> None:
    story = Story(faults=(FaultWindow(7, "kill", 1 * MS, 2 * MS, 3 * MS),), load_end_ns=1 * SECOND)
    story.op("p", "send", sent("t/0", 0, intended_ns=0), start=0, lasts=9 * MS, outcome="fail")

    assert [finding["op"] for finding in story.only("slow-recovery")] == [0]


def test_recovery_counts_from_when_a_send_was_due() -> None:
    story = load(faults=(FaultWindow(7, "kill", 1990 * MS, 1992 * MS, 1995 * MS),))
    story.op("p", "send", sent("t/0", 500, 500, intended_ns=20 * SECOND), start=20 * SECOND, lasts=1 * MS)

    assert story.only("slow-recovery") == []


def test_recovery_within_the_bound() -> None:
    story = load(1900, faults=(FaultWindow(7, "kill", 1990 * MS, 1995 * MS, 2 * SECOND),))

    assert story.only("slow-recovery") == []


def test_latency_outlier_under_a_fault() -> None:
    story = load(300, 1, 400, faults=(FaultWindow(3, "pause", 1999 * MS, 2 * SECOND, 2030 * MS),))

    (finding,) = story.only("latency-outlier")
    assert (finding["op"], finding["detail"]) == (202, "under pause (fault 3)")


def test_latency_outlier_without_a_fault() -> None:
    (finding,) = load(300).only("latency-outlier")

    assert (finding["op"], finding["detail"]) == (200, "under no fault")


def test_a_slow_send_that_is_no_outlier() -> None:
    assert load(90).names() == {"unseen"}, "less than 100 ms never is"


def test_the_auditor_is_not_measured() -> None:
    story = load()
    story.op("auditor", "send", sent("t/0", 1 << 40, 500, intended_ns=0), start=3 * SECOND, lasts=900 * MS)

    assert story.names() == {"unseen"}, "nobody read anything"


def test_what_warmed_the_clients_up_is_no_outlier_and_no_outage() -> None:
    story = Story(bound_ns=2 * SECOND)
    story.op("p", "send", sent("t/0", 0, 0, intended_ns=0), start=0, lasts=3 * SECOND)
    for index in range(1, 200):
        due_ns = 3 * SECOND + 10 * MS * index
        story.op("p", "send", sent("t/0", index, index, intended_ns=due_ns), start=due_ns, lasts=MS)
    measured = {"unavailable", "latency-outlier"}
    assert measured <= story.names()

    story.load_start_ns = 3 * SECOND
    assert not measured & story.names()
