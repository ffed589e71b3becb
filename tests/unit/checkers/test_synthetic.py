"""Synthetic histories are correct but for what is injected, and that is found."""

from __future__ import annotations

import json
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings

from chaoskit.base.errors import BadInput
from chaoskit.cli.synthesize import command
from chaoskit.contract.installed import anomalies
from chaoskit.history.reading.reader import History, read_messages, read_observations
from chaoskit.judge.findings.checking import found_in
from chaoskit.judge.subject.subject import read_subject
from chaoskit.model.observations.queue import DEAD_LETTER_REASONS, QUEUE_SETTINGS
from chaoskit.testing.synthetic.injection import CAUSES
from chaoskit.testing.synthetic.memory import Generated, generate
from chaoskit.testing.synthetic.parameters import make_parameters, parse_count
from chaoskit.testing.synthetic.queue_causes import QUEUE_CAUSES
from chaoskit.testing.synthetic.strategies import anomalous_histories, histories

NEVER = 2**62
SLOW = settings(suppress_health_check=list(HealthCheck))


def missed(history: Generated) -> list[dict[str, object]]:
    """Return the ground truth that no finding agrees with, of anomalies that somebody looks for."""
    findings = found_in(history.parts).to_pylist()
    truth = [row for row in history.truth.to_pylist() if row["anomaly"] in anomalies()]
    wanted = [{key: value for key, value in row.items() if value is not None and key != "cause"} for row in truth]
    return [row for row in wanted if not any(row.items() <= finding.items() for finding in findings)]


@SLOW
@given(histories())
def test_nothing_is_found_in_a_correct_history(history: Generated) -> None:
    assert all(anomalies()[name].measured for name in found_in(history.parts)["anomaly"].to_pylist())


@SLOW
@given(anomalous_histories())
def test_what_was_injected_is_found(history: Generated) -> None:
    assert history.truth.num_rows
    assert missed(history) == []


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_can_be_injected_several_times(cause: str) -> None:
    options = {
        "mode": CAUSES[cause].modes[-1],
        "producers": 6,
        "messages": 20_000,
        "partitions": 3,
        "inject": {cause: 3},
    }

    history = generate(make_parameters(options))

    assert missed(history) == []
    assert history.truth.num_rows >= 3
    assert set(history.truth["cause"].to_pylist()) == {cause}


CONSEQUENCES = {"long-life": {"fifo-violation"}}
"""What else is found: a message that is held back comes after later ones."""


@pytest.mark.parametrize("cause", QUEUE_CAUSES)
def test_nothing_else_is_found_in_a_queue(cause: str) -> None:
    given_ = {"mode": "queue", "messages": 20_000, "partitions": 9, "errors": 0.01, "inject": {cause: 1}}

    names = set(found_in(generate(make_parameters(given_)).parts)["anomaly"].to_pylist())

    known = {QUEUE_CAUSES[cause].anomaly} | CONSEQUENCES.get(cause, set())
    assert {name for name in names if not anomalies()[name].measured} == known


def test_every_kind_of_queue_is_simulated() -> None:
    history = generate(make_parameters({"mode": "queue", "messages": 20_000, "partitions": 9}))

    observed = [row for part in history.parts for row in part.observations.to_pylist()]
    assert {row["name"] for row in observed if row["kind"] == "declared"} == set(QUEUE_SETTINGS) - {
        "nacks-free",
        "ends-free",
        "application",
    }
    reasons = {row["name"] for row in observed if row["kind"] == "dead-lettered"}
    assert reasons == set(DEAD_LETTER_REASONS)
    assert {row["kind"] for row in observed} >= {"acked", "nacked", "rejected", "prioritised", "depth"}


@pytest.mark.parametrize("mode", ["log", "group", "transactions", "ledgers", "queue"])
def test_operations_are_in_order_and_take_time(mode: str) -> None:
    history = generate(make_parameters({"mode": mode, "messages": 30_000, "transactions": 2_000}))

    operations = history.operations
    start_ns, end_ns = operations["start_ns"].to_numpy(), pc.fill_null(operations["end_ns"], NEVER).to_numpy()
    assert operations["op"].to_pylist() == list(range(operations.num_rows))
    assert np.all(np.diff(start_ns) >= 0)
    assert np.all(end_ns >= start_ns)
    for part in history.parts:
        messages = part.messages
        assert np.all(np.diff(messages["op"].to_numpy()) >= 0)
        received_ns, sent_ns = pc.fill_null(messages["received_ns"], NEVER), pc.fill_null(messages["sent_ns"], 0)
        assert np.all(received_ns.to_numpy() >= sent_ns.to_numpy())


def test_the_same_seed_gives_the_same_history() -> None:
    parameters = make_parameters({"messages": 5_000, "seed": 9, "inject": {"ghost": 1}})

    one, other = generate(parameters), generate(parameters)

    assert one.operations == other.operations
    assert [part.messages for part in one.parts] == [part.messages for part in other.parts]
    assert one.truth == other.truth


def test_skew_gives_one_partition_most_messages() -> None:
    history = generate(make_parameters({"messages": 60_000, "partitions": 10, "skew": 0.95}))

    rows = [part.messages.num_rows for part in history.parts]
    assert len(rows) == 10
    assert rows[0] / sum(rows) == pytest.approx(0.95, abs=0.01)


def test_group_members_commit_and_are_assigned_every_partition() -> None:
    history = generate(make_parameters({"mode": "group", "messages": 30_000, "partitions": 5, "crashes": 3}))

    for part in history.parts:
        kinds = Counter(part.observations["kind"].to_pylist())
        assert kinds["assigned"] == 4
        assert kinds["committed"] > 5
    assert {"subscribe", "assign", "commit", "revoke"} <= set(history.operations["f"].to_pylist())


@pytest.mark.parametrize(
    ("cause", "kinds"), [("cycle", {"ww", "wr"}), ("write-cycle", {"ww"}), ("stale-read", {"ww", "rw"})]
)
def test_injected_cycles_are_cycles(cause: str, kinds: set[str]) -> None:
    options = {"mode": "transactions", "producers": 6, "transactions": 3_000, "seed": 5}

    clean = dependencies(generate(make_parameters(options)), {"ww", "wr", "rw"})
    injected = dependencies(generate(make_parameters({**options, "inject": {cause: 1}})), kinds)

    assert networkx.is_directed_acyclic_graph(clean)
    assert not networkx.is_directed_acyclic_graph(injected)


def dependencies(history: Generated, kinds: set[str]) -> networkx.DiGraph[int]:
    """Return who depends on whom among committed transactions, from positions and highest reads."""
    txn_of = dict(zip(history.operations["op"].to_pylist(), history.operations["txn"].to_pylist(), strict=True))
    graph: networkx.DiGraph[int] = networkx.DiGraph()
    for part in history.parts:
        rows = part.messages.select(["op", "direction", "value", "position"]).to_pylist()
        sender = {row["value"]: txn_of[row["op"]] for row in rows if row["direction"] == "sent"}
        received = [row for row in rows if row["direction"] == "received"]
        order = sorted({(row["position"], row["value"]) for row in received})
        highest = {txn_of[row["op"]]: row for row in received if txn_of[row["op"]] is not None}
        edges = [("ww", sender[one], sender[other]) for (_, one), (_, other) in pairwise(order)]
        edges += [("wr", sender[row["value"]], txn) for txn, row in highest.items()]
        edges += [("rw", txn, sender[value]) for txn, value in passed_over(order, received, txn_of)]
        graph.add_edges_from((one, other) for kind, one, other in edges if one != other and kind in kinds)
    return graph


def passed_over(
    order: list[tuple[int, int]], received: list[dict[str, int]], txn_of: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield transaction and value where one read on both sides of what it did not see."""
    polls: dict[int, list[int]] = {}
    for row in received:
        if txn_of[row["op"]] is not None:
            polls.setdefault(txn_of[row["op"]], []).append(row["position"])
    for txn, positions in polls.items():
        first, last = bisect(order, (min(positions),)), bisect(order, (max(positions),))
        yield from ((txn, value) for position, value in order[first:last] if position not in positions)


def test_a_run_folder_is_written_that_can_be_read(tmp_path: Path) -> None:
    arguments = ["--store", str(tmp_path), "--name", "made", "--messages", "20k", "--inject", "lost-tail=2"]

    done = CliRunner().invoke(command, arguments, standalone_mode=False)

    folder = Path(done.stdout.strip())
    history = History.open(folder)
    assert folder.parent == tmp_path / "made"
    assert read_subject(folder).imported
    assert len(history.partitions) == 4
    assert sum(partition.rows for partition in history.partitions) == pytest.approx(20_000, rel=0.1)
    assert Counter(pq.read_table(folder / "truth.parquet")["cause"].to_pylist())["lost-tail"] > 2
    assert history.faults.num_rows == 2
    assert json.dumps(read_subject(folder).name) == '"made"'


@pytest.mark.parametrize("mode", ["log", "queue"])
def test_files_and_memory_hold_the_same(tmp_path: Path, mode: str) -> None:
    arguments = ["--store", str(tmp_path), "--messages", "9k", "--mode", mode]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    history = History.open(Path(done.stdout.strip()))
    made = generate(make_parameters({"messages": 9_000, "mode": mode}))

    assert history.operations.to_pylist() == made.operations.to_pylist()
    for part, partition in zip(made.parts, history.partitions, strict=True):
        assert read_messages(partition).to_pylist() == part.messages.to_pylist()
        assert read_observations(partition).to_pylist() == part.observations.to_pylist()
        assert history.audit(partition.topic, partition.partition) == part.setting.audit


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"inject": {"lost-tial": 1}}, 'unknown cause; did you mean "lost-tail"'),
        ({"inject": {"zombie": 1}}, "needs --mode transactions, not log"),
        ({"inject": {"lost-tail": 5}}, "too few partitions have enough messages"),
        ({"messages": "many"}, "--messages"),
        ({"mode": "queue", "inject": {"forgotten-ack": 5}}, "each injection needs its own queue"),
        ({"mode": "queue", "consumers": 1, "inject": {"second-active": 1}}, "needs --consumers 2"),
        ({"skew": 0.5, "partitions": 1}, "skew: requires more than one partition"),
    ],
)
def test_what_cannot_be_made_is_refused(given_: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        generate(make_parameters({**given_}))


def test_a_number_may_have_a_unit() -> None:
    assert [parse_count(text) for text in ("7", "100k", "2.5M", "1G")] == [7, 100_000, 2_500_000, 10**9]
