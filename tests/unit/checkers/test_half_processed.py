"""Several sinks: what parted an input's output from the one that is missing, or repeats it in one of them, is told."""

from __future__ import annotations

from typing import Any

from pipeline_story import MS, OUT, OUT_2, Pipeline, details, pipeline

from chaoskit.contract.checkers.checker import FaultWindow


def test_rows_that_a_cut_took_and_that_were_written_again_explain_nothing_elsewhere() -> None:
    story = two_sinks()
    story.in_database("n6", "fsync: off")
    story.write((2, 2), start=7800)
    story.loses(2, start=12_000)
    story.write((2, 3), start=13_000)
    story.commit(3, 14_000)

    (detail,) = details(story, "half-processed")
    assert detail.startswith("too few in out2: its offset was committed at 14.00 s, and application-1 went on running")


def two_sinks() -> Pipeline:
    """Two inputs whose outputs are in both sinks, and one whose are not."""
    story = pipeline(sinks=(OUT, OUT_2))
    story.feed(range(3))
    story.owned(1, 100)
    story.write((0, 0), (1, 1), start=1000)
    story.write((0, 0), (1, 1), place=OUT_2, start=1010)
    story.op("consumer-0", "poll", start=7000)
    return story


def test_an_end_between_two_outputs_leaves_the_first_alone() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)
    story.ends(1, 7900)
    story.commit(3, 12_000)

    (detail,) = details(story, "half-processed")
    assert detail == (
        "too few in out2: application-1 ended at 7.90 s (signal SIGKILL) after its output in out, read at 7.80 s, and "
        "before its offset was committed at 12.00 s: they are not one step, and a repetition leaves out the rest; "
        "write all in one transaction, such as with an outbox"
    )


def test_an_output_that_was_read_after_the_end_was_probably_written_before() -> None:
    story = two_sinks()
    story.ends(1, 7900)
    story.write((2, 2), start=11_000)
    story.commit(3, 12_000)

    (detail,) = details(story, "half-processed")
    assert "ended at 7.90 s (signal SIGKILL) probably after its output in out, read at 11.01 s" in detail


def test_an_end_before_anything_of_an_input_was_written_is_not_between_its_outputs() -> None:
    story = two_sinks()
    story.ends(1, 5000)
    story.write((2, 2), start=7800)
    story.commit(3, 12_000)

    (detail,) = details(story, "half-processed")
    assert "application-1 went on running: it gave the output up" in detail


def test_an_end_after_the_commit_is_not_between_two_outputs() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)
    story.commit(3, 7850)
    story.ends(1, 7900)

    (detail,) = details(story, "half-processed")
    assert "it commits before its work is done" in detail


def test_an_end_of_another_instance_is_not_between_two_outputs_but_may_be_that_of_a_relay() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)
    story.ends(0, 7900)
    story.commit(3, 12_000)

    (detail,) = details(story, "half-processed")
    assert (
        "application-0 ended at 7.90 s (signal SIGKILL), which did not own its partition: if that is a relay" in detail
    )


def test_an_end_of_another_instance_long_after_a_commit_is_that_of_no_relay() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)
    story.commit(3, 7900)
    story.ends(0, 17_900)

    (detail,) = details(story, "half-processed")
    assert "application-1 went on running" in detail


def test_an_input_that_nobody_committed_and_an_end_between_its_outputs() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)
    story.ends(1, 7900)

    (detail,) = details(story, "half-processed")
    assert detail == (
        "too few in out2: nobody committed its offset, and application-1 ended at 7.90 s (signal SIGKILL) after its "
        "output in out, read at 7.80 s"
    )


def test_of_those_who_share_a_partition_nobody_knows_who_had_it() -> None:
    story = two_sinks()
    story.owned(None, 6000)
    story.write((2, 2), start=7800)
    story.ends(0, 7900)
    story.commit(3, 12_000)

    (detail,) = details(story, "half-processed")
    assert "application-0 ended at 7.90 s (signal SIGKILL), if that one had it, after its output in out" in detail


def test_an_input_that_nobody_committed_lacks_an_output() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)

    assert details(story, "half-processed") == {"too few in out2: nobody committed its offset"}


def test_a_row_that_is_gone_is_missing_where_it_was() -> None:
    story = two_sinks()
    story.in_database("n6", "synchronous_commit: off")
    times: dict[str, Any] = {"start_ns": 8000 * MS, "effective_ns": 8100 * MS, "healed_ns": 11_000 * MS}
    story.faults = (FaultWindow(0, "power-cut", damages=True, targets=("n6",), **times),)
    story.write((2, 2), start=7800)
    story.write((2, 2), place=OUT_2, start=7810)
    story.ends(1, 8200)
    story.commit(3, 7900)
    story.loses(2, start=12_000)

    (detail,) = details(story, "half-processed")
    assert detail.startswith(
        "too few in out: its output was in out at 7.80 s, and is gone since 12.01 s: the power-cut"
    )


def test_who_writes_elsewhere_too_may_repeat_as_a_relay_does() -> None:
    story = two_sinks()
    story.write((2, 2), start=7800)
    story.write((2, 2), place=OUT_2, start=7810)
    story.ends(1, 7900)
    story.write((2, 3), place=OUT_2, start=11_000)
    story.commit(3, 12_000)

    (detail,) = details(story, "processed-twice")
    assert "they are not one step, or what a relay publishes and marks is not; put both into a transaction" in detail
