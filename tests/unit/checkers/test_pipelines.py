"""The checker of applications agrees with the definitions, and blames the right habit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pipeline_story import IN, IN_1, MS, OUT, OUT_2, Pipeline, details, pipeline
from reference_pipelines import Application, Found

from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.model.observations.pipeline import UNIDENTIFIED
from checkers.pipeline.pipelines import PipelineChecker

OWN = {anomaly.name for anomaly in PipelineChecker.anomalies}
BY_VALUE = ("unprocessed", "half-processed", "not-drained")


@st.composite
def applications(draw: st.DrawFn) -> Pipeline:
    """An application with one or two sinks that does anything at all with what it is fed."""
    sinks = draw(st.sampled_from([(OUT,), (OUT, OUT_2)]))
    least = draw(st.integers(0, 2))
    outputs = least, max(1, least + draw(st.integers(0, 1)))
    within = draw(st.sampled_from([None, 1_000_000_000]))
    story = pipeline(outputs, sinks, ordered=draw(st.booleans()), within=within, arranged=draw(st.booleans()))
    story.feed(draw(st.sets(st.integers(0, 5))), IN, key=draw(st.sampled_from([None, "k"])), kept=draw(st.booleans()))
    story.feed(draw(st.sets(st.integers(6, 9))), IN_1, key="k", kept=draw(st.booleans()))
    for sink in sinks:
        at = 0
        for value in draw(st.lists(st.integers(0, 10), max_size=12)):
            story.write((value, at), place=sink, start=draw(st.sampled_from([None, 3000])))
            at += draw(st.sampled_from([1, 1, 1, 0]))
        story.loses(*draw(st.sets(st.integers(0, 6), max_size=2)), place=sink)
    for value in draw(st.sets(st.integers(0, 5), max_size=2)):
        least = draw(st.integers(0, 2))
        story.needs(value, least, least + draw(st.integers(0, 1)))
    for place in draw(st.lists(st.sampled_from([IN, IN_1]), max_size=3)):
        story.commit(draw(st.integers(0, 10)), place=place, first=draw(st.sampled_from([None, None, 0, 2, 7])))
    return story


def identified(story: Pipeline) -> set[Found]:
    """Return the findings as the reference identifies them."""
    return {
        (row["anomaly"], row["value"])
        if row["anomaly"] in BY_VALUE
        else (row["anomaly"], row["topic"], row["partition"], row["position"])
        for row in story.check()
        if row["anomaly"] in OWN
    }


@given(applications())
def test_findings_are_those_of_the_definitions(story: Pipeline) -> None:
    expected = Application(story).findings()
    for name, *_ in expected:
        event(name)

    assert identified(story) == expected


def fed() -> Pipeline:
    story = pipeline()
    story.feed(range(4))
    story.owned(1, 100)
    story.write((0, 0), (1, 1), start=1000)
    return story


def test_who_commits_before_its_work_and_is_killed_is_named() -> None:
    story = fed()
    story.commit(4, 8000)
    story.ends(1, 8050)

    (detail,) = details(story, "unprocessed")
    assert "committed at 8.00 s, and application-1 ended at 8.05 s (signal SIGKILL)" in detail
    assert "commits before its work is done" in detail


def test_who_commits_in_the_order_in_which_inputs_are_finished_is_named_by_its_steps_back() -> None:
    story = fed()
    story.commit(2, 3000)
    story.commit(1, 3100)
    story.commit(4, 8000)
    story.ends(1, 8050)

    (detail,) = details(story, "unprocessed")
    assert "(signal SIGKILL): its commits went back 1 time: it commits inputs in the order in which they" in detail


def test_a_step_back_at_a_rebalance_says_nothing_of_the_order_of_commits() -> None:
    story = fed()
    story.commit(2, 3000)
    story.owned(0, 3050)
    story.commit(1, 3100)
    story.owned(1, 4000)
    story.commit(4, 8000)
    story.ends(1, 8050)

    (detail,) = details(story, "unprocessed")
    assert "commits before its work is done" in detail


def test_a_step_back_in_an_earlier_life_says_nothing_of_this_one() -> None:
    story = fed()
    story.commit(2, 3000)
    story.commit(1, 3100)
    story.op("application-1", "start", start=5000, lasts=1)
    story.commit(4, 8000)
    story.ends(1, 8050)

    (detail,) = details(story, "unprocessed")
    assert "commits before its work is done" in detail


def test_of_those_who_share_a_partition_nobody_is_blamed_for_sure() -> None:
    story = pipeline()
    story.feed(range(4))
    story.shared({0: 1, 1: 1}, 100)
    story.write((0, 0), (1, 1), (2, 2), start=1000)
    story.commit(3, 3000)
    story.commit(4, 8000, first=3)
    story.ends(1, 8050)

    (detail,) = details(story, "unprocessed")
    assert "committed at 8.00 s, and application-1 ended at 8.05 s (signal SIGKILL): if that one had it, it" in detail


def test_another_instance_that_ends_is_not_blamed() -> None:
    story = fed()
    story.commit(4, 8000)
    story.ends(0, 8050)

    (detail,) = details(story, "unprocessed")
    assert "application-1 went on running" in detail


def test_who_goes_on_running_ignored_an_error() -> None:
    story = fed()
    story.commit(4, 8000)
    story.ends(1, 20_000)

    (detail,) = details(story, "unprocessed")
    assert "ignored the error" in detail


def test_a_commit_at_a_rebalance_is_blamed() -> None:
    story = fed()
    story.commit(4, 8000)
    story.owned(0, 8500)

    (detail,) = details(story, "unprocessed")
    assert "commits at a rebalance" in detail


def test_a_kill_between_output_and_commit_repeats() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.ends(1, 4000)
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    (detail,) = details(story, "processed-twice")
    assert "application-1 ended at 4.00 s" in detail
    assert "they are not one step" in detail


def test_a_clean_end_without_a_commit_repeats() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.op("application-1", "exit", start=4000, lasts=1, error="status 0")
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    (detail,) = details(story, "processed-twice")
    assert "it does not commit before it ends" in detail


def test_a_partition_that_has_no_owner_for_a_while_has_not_moved() -> None:
    story = fed()
    story.owned(None, 3000)
    story.owned(1, 4000)
    story.write((2, 2), (3, 3), start=2000)
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    (detail,) = details(story, "processed-twice")
    assert "without idempotence" in detail


def stored(forgets: str = "synchronous_commit: off", **cut: Any) -> Pipeline:
    """Outputs in a database whose host loses power."""
    story = fed()
    story.in_database("n6", forgets)
    times = {"start_ns": 8000 * MS, "effective_ns": 8100 * MS, "healed_ns": 11_000 * MS, "targets": ("n6",)}
    story.faults = (FaultWindow(0, "power-cut", **{"damages": True, **times, **cut}),)
    story.ends(1, 8200)
    return story


def test_a_database_that_forgets_what_was_seen_is_blamed() -> None:
    story = stored()
    story.write((2, 2), (3, 3), start=7800)
    story.commit(4, 7900)
    story.loses(2, 3, start=12_000)

    (detail,) = details(story, "unprocessed")
    assert detail == (
        "its output was in out at 7.80 s, and is gone since 12.01 s: the power-cut of n6 (its database has "
        "synchronous_commit: off) at 8.00 s took what was not flushed; turn on there what is off"
    )


def test_a_database_that_forgets_before_anybody_looked_is_blamed() -> None:
    story = stored()
    story.commit(4, 7900)

    (detail,) = details(story, "unprocessed")
    assert "committed at 7.90 s, about when the power-cut of n6 (its database has synchronous_commit: off)" in detail


def test_rows_that_are_gone_for_no_known_reason() -> None:
    story = stored(targets=("n1",))
    story.write((2, 2), (3, 3), start=7800)
    story.commit(4, 7900)
    story.loses(2, 3, start=12_000)

    (detail,) = details(story, "unprocessed")
    assert detail.endswith("the sink lost it, or somebody deleted it")


@pytest.mark.parametrize(
    ("forgets", "cut"),
    [
        ("", {}),
        ("fsync: off", {"damages": False}),
        ("fsync: off", {"targets": ("n4",)}),
        ("fsync: off", {"start_ns": MS}),
    ],
)
def test_a_database_that_keeps_what_it_committed_is_not_blamed(forgets: str, cut: dict[str, Any]) -> None:
    story = stored(forgets, **({"effective_ns": 2 * MS} if "start_ns" in cut else {}), **cut)
    story.commit(4, 7900)

    (detail,) = details(story, "unprocessed")
    assert "application-1 ended at 8.20 s" in detail


def test_a_relay_that_dies_repeats_what_was_committed() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.commit(4, 2100)
    story.ends(1, 4000)
    story.write((2, 4), (3, 5), start=6000)

    (detail,) = details(story, "processed-twice")
    assert detail == (
        "its offset had been committed at 2.10 s, before application-1 ended at 4.00 s (signal SIGKILL): something "
        "else repeats it, such as a relay that had not marked it yet as published"
    )


def test_a_commit_that_went_back_repeats_and_no_relay_is_blamed() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.commit(4, 2100)
    story.commit(2, 2200)
    story.ends(1, 4000)
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    (detail,) = details(story, "processed-twice")
    assert detail == (
        "its offset had been committed at 2.10 s, at 2.20 s the group went back to one before it, and application-1 "
        "ended at 4.00 s (signal SIGKILL): its successor began there; it commits inputs in the order in which they are "
        "finished; commit only up to the first one that is not"
    )


def test_a_group_that_went_back_under_another_owner_did_not_finish_out_of_order() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.commit(4, 2100)
    story.owned(0, 2150)
    story.commit(2, 2200)
    story.ends(0, 4000)
    story.write((2, 4), (3, 5), start=6000)

    (detail,) = details(story, "processed-twice")
    assert detail == (
        "its offset had been committed at 2.10 s, and at 2.20 s the group went back to one before it: who began there "
        "repeats it"
    )


def test_an_end_of_who_did_not_own_the_partition_is_not_its_cause() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=5000)
    story.ends(0, 6000)
    story.write((2, 4), (3, 5), start=8000)
    story.commit(4, 8500)

    (detail,) = details(story, "processed-twice")
    assert "its instance went on running and its partition did not move" in detail


def test_a_commit_that_went_back_and_on_again_explains_no_repetition() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.commit(4, 2100)
    story.commit(2, 2200)
    story.commit(4, 2300)
    story.ends(1, 4000)
    story.write((2, 4), (3, 5), start=6000)

    (detail,) = details(story, "processed-twice")
    assert "something else repeats it, such as a relay" in detail


def test_a_relay_whose_database_forgot_what_it_had_marked_repeats_it() -> None:
    story = stored()
    story.write((2, 2), (3, 3), start=2000)
    story.commit(4, 2100)
    story.write((2, 4), (3, 5), start=12_000)

    (detail,) = details(story, "processed-twice")
    assert "a relay whose mark the power-cut of n6 (its database has synchronous_commit: off) at 8.00 s took" in detail


def test_what_repeats_without_an_end_or_a_rebalance_repeats_by_itself() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=2000)
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    (detail,) = details(story, "processed-twice")
    assert "without idempotence" in detail


def test_an_input_that_was_stored_twice_may_have_twice_the_outputs() -> None:
    story = pipeline()
    story.feed([0])
    story.op("auditor", "poll", {**story.messages[-1], "position": 7})
    story.write((0, 0), (0, 1))
    story.commit(8)

    assert not {"processed-twice", "half-processed"} & story.names()


def test_a_sink_whose_outputs_have_no_ids_is_not_judged_and_the_others_are() -> None:
    story = pipeline(sinks=(OUT, OUT_2))
    story.feed(range(2))
    story.write((UNIDENTIFIED, 0), (UNIDENTIFIED, 1))
    story.write((0, 0), place=OUT_2)
    story.commit(2)

    assert story.names() == {"unattributed", "unprocessed"}
    assert [row["value"] for row in story.only("unprocessed")] == [1]
