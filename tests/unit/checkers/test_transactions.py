from __future__ import annotations

import pytest
from story import Row, Story, received, sent

from chaoskit.model.audit import Bounds


def transaction(story: Story, client: str, *messages: Row, outcome: str = "ok") -> int:
    """Begin, send and poll as told, end; return the transaction."""
    txn = len(story.operations)
    story.op(client, "begin", txn=txn)
    for message in messages:
        story.op(client, "send" if message["direction"] == "sent" else "poll", message, txn=txn)
    story.op(client, "end", txn=txn, outcome=outcome)
    return txn


def test_aborted_read() -> None:
    story = Story()
    transaction(story, "a", sent("t/0", 1, 0), outcome="fail")
    reader = story.op("c", "poll", received("t/0", 1, 0))

    assert story.only("aborted-read") == [
        {"anomaly": "aborted-read", "topic": "t", "partition": 0, "value": 1, "position": 0, "op": 1}
        | {"other_op": reader, "at_ns": 10 * reader + 5}
    ]


def test_a_transaction_that_was_never_ended_cannot_have_committed() -> None:
    story = Story()
    story.op("a", "begin", txn=0)
    story.op("a", "send", sent("t/0", 1, 0), txn=0)
    story.op("c", "poll", received("t/0", 1, 0))

    assert story.names() == {"aborted-read"}


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_reading_what_committed_or_may_have_is_no_anomaly(outcome: str) -> None:
    story = Story(audits={"t/0": Bounds(0, 1, complete=True)})
    transaction(story, "a", sent("t/0", 1, 0), outcome=outcome)
    story.op("auditor", "poll", received("t/0", 1, 0))

    assert story.names() == set()


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_a_message_of_a_transaction_that_may_not_have_committed_is_not_lost(outcome: str) -> None:
    story = Story(audits={"t/0": Bounds(0, 1, complete=True)})
    transaction(story, "a", sent("t/0", 1, 0), outcome=outcome)

    assert story.names() == set()


def test_lost_in_a_committed_transaction() -> None:
    story = Story(audits={"t/0": Bounds(0, 1, complete=True)})
    transaction(story, "a", sent("t/0", 1, 0))

    assert story.names() == {"lost"}


def test_precommitted_read_by_another() -> None:
    story = Story()
    story.op("a", "begin", txn=0)
    story.op("a", "send", sent("t/0", 1, 0), txn=0)
    reader = story.op("c", "poll", received("t/0", 1, 0))
    story.op("a", "end", txn=0)

    (finding,) = story.only("precommitted-read")
    assert (finding["value"], finding["op"], finding["other_op"]) == (1, 1, reader)


def test_precommitted_read_of_ones_own_write() -> None:
    story = Story()
    story.op("a", "txn", sent("t/0", 1, 0), received("t/0", 1, 0), txn=0)

    assert story.names() == {"precommitted-read"}


def test_torn_transaction_across_partitions() -> None:
    story = Story(audits={"t/0": Bounds(0, 1, complete=True), "t/1": Bounds(0, 0, complete=True)})
    transaction(story, "a", sent("t/0", 1, 0), sent("t/1", 2, 0))
    story.op("auditor", "poll", received("t/0", 1, 0))

    (finding,) = story.only("torn-transaction")
    assert (finding["value"], finding["other_value"], finding["detail"]) == (2, 1, "committed")
    assert (finding["topic"], finding["partition"], finding["op"], finding["other_op"]) == ("t", 1, 2, 1)


def test_torn_transaction_though_nobody_knows_whether_it_committed() -> None:
    story = Story(audits={"t/0": Bounds(0, 2, complete=True)})
    transaction(story, "a", sent("t/0", 1, 0), sent("t/0", 2, 1), outcome="info")
    story.op("auditor", "poll", received("t/0", 1, 0))

    assert [row["detail"] for row in story.only("torn-transaction")] == ["commit outcome unknown"]


def test_a_transaction_that_is_not_whole_yet_is_not_torn() -> None:
    story = Story(audits={"t/0": Bounds(0, 2, complete=False)})
    transaction(story, "a", sent("t/0", 1, 0), sent("t/0", 2, 1))
    story.op("auditor", "poll", received("t/0", 1, 0))

    assert story.names() == {"unseen"}


def test_zombie_write() -> None:
    story = Story()
    story.op("a#1", "init")
    fence = story.op("a#2", "init")
    late = story.op("a#1", "send", sent("t/0", 1, 0))
    story.op("c", "poll", received("t/0", 1, 0))

    (finding,) = story.only("zombie-write")
    assert (finding["op"], finding["other_op"], finding["detail"]) == (late, fence, "sent after it was fenced")


def test_zombie_write_of_a_transaction_that_ended_after_the_fence() -> None:
    story = Story()
    story.op("a#1", "init")
    story.op("a#1", "begin", txn=1)
    story.op("a#1", "send", sent("t/0", 1, 0), txn=1)
    story.op("a#2", "init")
    story.op("a#1", "end", txn=1)
    story.op("c", "poll", received("t/0", 1, 0))

    assert [row["detail"] for row in story.only("zombie-write")] == ["its transaction ended after it was fenced"]


@pytest.mark.parametrize("fence", [("b#2", "ok"), ("a#2", "fail"), ("a#1", "ok")])
def test_only_a_later_incarnation_of_the_same_name_fences(fence: tuple[str, str]) -> None:
    story = Story()
    story.op("a#1", "init")
    story.op(fence[0], "init", outcome=fence[1])
    story.op("a#1", "send", sent("t/0", 1, 0))
    story.op("c", "poll", received("t/0", 1, 0))

    assert story.names() == set()


def test_what_was_sent_before_the_fence_may_be_visible() -> None:
    story = Story()
    story.op("a#1", "init")
    story.op("a#1", "send", sent("t/0", 1, 0))
    story.op("a#2", "init")
    story.op("c", "poll", received("t/0", 1, 0))

    assert story.names() == set()
