"""Changes of a history that say nothing, each with its undoing in the findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import event
from hypothesis import strategies as st

from chaoskit.base.columns import Flags
from chaoskit.contract.checkers.checker import FaultWindow, Part, PartitionSetting
from chaoskit.judge.findings.checking import found_in
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from checkers.transaction.cycles import CYCLES

Row = dict[str, Any]
Rows = list[Row]
Undo = Callable[[Row], Row]
SEQUENCE = (1 << PRODUCER_SHIFT) - 1
EVIDENCE = ("topic", "partition", "value", "position", "op", "other_value", "other_position", "other_op", "at_ns")


Drawn = TypeVar("Drawn")


class Draw(Protocol):
    """Draws an example: that of a composite strategy, or `draw` of `st.data()`."""

    def __call__(self, strategy: st.SearchStrategy[Drawn], label: object = None) -> Drawn: ...


class Sheet(NamedTuple):
    """One partition of a history."""

    setting: PartitionSetting
    messages: pa.Table
    observations: pa.Table


@dataclass(frozen=True)
class Case:
    """A history in memory: each partition, and all operations."""

    parts: tuple[Sheet, ...]
    operations: pa.Table

    @classmethod
    def of(cls, parts: Iterable[Part], operations: pa.Table) -> Case:
        """Return the history of these partitions."""
        return cls(tuple(Sheet(part.setting, part.messages, part.observations) for part in parts), operations)

    def findings(self) -> Rows:
        """Return what all checkers find."""
        parts = [Part(sheet.setting, sheet.messages, self.operations, sheet.observations) for sheet in self.parts]
        rows: Rows = found_in(parts).to_pylist()
        return rows

    def mapped(self, rows: Callable[[pa.Table], pa.Table], operations: Callable[[pa.Table], pa.Table]) -> Case:
        """Return it with all tables changed: `rows` of messages and of observations."""
        parts = tuple(Sheet(sheet.setting, rows(sheet.messages), rows(sheet.observations)) for sheet in self.parts)
        return Case(parts, operations(self.operations))

    def set_up(self, setting: Callable[[PartitionSetting], PartitionSetting]) -> Case:
        """Return it with other settings."""
        return replace(self, parts=tuple(sheet._replace(setting=setting(sheet.setting)) for sheet in self.parts))


OF_MESSAGES = ["acked", "nacked", "rejected", "prioritised", "dead-lettered"]
"""Kinds of observations whose value, if they have one, is a message's."""

Change = Callable[[Draw, Case], tuple[Case, Undo]]
CHANGES: dict[str, Change] = {}


def change(function: Change) -> Change:
    """Note a change of histories."""
    CHANGES[function.__name__] = function
    return function


def same(row: Row) -> Row:
    """The undoing of what leaves findings as they are."""
    return row


@change
def partitions_in_another_order(draw: Draw, case: Case) -> tuple[Case, Undo]:
    return replace(case, parts=tuple(draw(st.permutations(case.parts)))), same


@change
def other_topics_and_partition_numbers(draw: Draw, case: Case) -> tuple[Case, Undo]:
    old = [(sheet.setting.topic, sheet.setting.partition) for sheet in case.parts]
    topics = list(dict.fromkeys(topic for topic, _ in old))
    names = dict(zip(topics, draw(st.permutations([f"{'zmab'[i % 4]}.{i}" for i in range(len(topics))])), strict=True))
    numbers = dict(zip(old, draw(st.permutations([3 * i + 1 for i in range(len(old))])), strict=True))
    new = {place: (names[place[0]], numbers[place]) for place in old}
    back = {new_place: here for here, new_place in new.items()}

    def written_back(match: re.Match[str]) -> str:
        place = match[1], int(match[2])
        topic, number = back.get(place, place)
        return f"{topic}/{number}"

    def undo(row: Row) -> Row:
        place = row["topic"], row["partition"]
        topic, partition = back.get(place, place)
        detail = row["detail"] and re.sub(r"(\S+)/(\d+)", written_back, row["detail"])
        return row | {"topic": topic, "partition": partition, "detail": detail}

    def moved(table: pa.Table, topic: str, number: int) -> pa.Table:
        return replaced(table, topic=pa.array([topic] * table.num_rows), partition=[number] * table.num_rows)

    parts = []
    for setting, messages, observations in case.parts:
        topic, number = new[setting.topic, setting.partition]
        new_setting = replace(setting, topic=topic, partition=number)
        parts.append(Sheet(new_setting, moved(messages, topic, number), moved(observations, topic, number)))
    return Case(tuple(parts), case.operations), undo


@change
def other_chunks(draw: Draw, case: Case) -> tuple[Case, Undo]:
    def cut(table: pa.Table) -> pa.Table:
        return pa.concat_tables([table.slice(0, 0), *pieces(draw, table)])

    return case.mapped(cut, cut), same


@change
def plain_strings(draw: Draw, case: Case) -> tuple[Case, Undo]:
    def plain(table: pa.Table) -> pa.Table:
        return table.cast(pa.schema([field.with_type(plain_type(field.type)) for field in table.schema]))

    return case.mapped(plain, plain), same


@change
def other_dictionaries(draw: Draw, case: Case) -> tuple[Case, Undo]:
    """Entries in another order, and some that no row names; another one in each chunk."""

    def encoded(chunk: pa.Array) -> pa.Array:
        texts = chunk.cast(pa.string())
        entries = draw(st.permutations([*texts.drop_null().unique().to_pylist(), "nobody", "", "auditor#9"]))
        indices = pc.index_in(texts, value_set=pa.array(entries))
        return pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), pa.array(entries))

    def recoded(table: pa.Table) -> pa.Table:
        for index, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):
                chunks = [encoded(chunk) for chunk in table.column(index).chunks]
                table = table.set_column(index, field, pa.chunked_array(chunks, field.type))
        return table

    return case.mapped(recoded, recoded), same


@change
def another_origin_of_time(draw: Draw, case: Case) -> tuple[Case, Undo]:
    by_ns = draw(st.sampled_from([1, 10**9, 3 * 10**15]))

    def later(table: pa.Table) -> pa.Table:
        names = [name for name in table.schema.names if name.endswith("_ns")]
        return replaced(table, **{name: pc.add(table[name], by_ns) for name in names})

    def shifted(at_ns: int | None) -> int | None:
        return None if at_ns is None else at_ns + by_ns

    def moved(window: FaultWindow) -> FaultWindow:
        proved_ns, healed_ns = shifted(window.effective_ns), shifted(window.healed_ns)
        return replace(window, start_ns=window.start_ns + by_ns, effective_ns=proved_ns, healed_ns=healed_ns)

    def set_later(setting: PartitionSetting) -> PartitionSetting:
        end_ns = None if setting.load_end_ns is None else setting.load_end_ns + by_ns
        return replace(setting, faults=tuple(map(moved, setting.faults)), load_end_ns=end_ns)

    case = case.mapped(later, later).set_up(set_later)
    return (
        case,
        lambda row: (
            row
            | {name: None if row[name] is None else row[name] - by_ns for name in ("at_ns", "since_ns") if name in row}
        ),
    )


@change
def other_process_numbers(draw: Draw, case: Case) -> tuple[Case, Undo]:
    known = case.operations["process"].unique()
    numbers = draw(st.permutations([7 * i + 2 for i in range(len(known))]))
    renumbered = pa.array(numbers, pa.int32()).take(pc.index_in(case.operations["process"], value_set=known))
    return replace(case, operations=replaced(case.operations, process=renumbered)), same


@change
def other_producer_numbers(draw: Draw, case: Case) -> tuple[Case, Undo]:
    tables = [table for sheet in case.parts for table in (sheet.messages, sheet.observations)]
    known = sorted({producer for table in tables for producer in producers(table)})
    numbers: list[int] = draw(st.permutations([*known, *range(1000, 1003)]))[: len(known)]
    forth, back = dict(zip(known, numbers, strict=True)), dict(zip(numbers, known, strict=True))

    def renamed(table: pa.Table) -> pa.Table:
        value, chosen = table["value"].fill_null(-1).to_numpy().copy(), of_messages(table)
        new = np.array([forth.get(producer, 0) for producer in range(max(known, default=0) + 1)], np.int64)
        value[chosen] = new[value[chosen] >> PRODUCER_SHIFT] << PRODUCER_SHIFT | value[chosen] & SEQUENCE
        return replaced(table, value=pa.array(value, mask=value == -1))

    def undone(value: int | None) -> int | None:
        if value is None or value < 0:
            return value
        producer = value >> PRODUCER_SHIFT
        return back.get(producer, producer) << PRODUCER_SHIFT | value & SEQUENCE

    return case.mapped(renamed, same), lambda row: row | {name: undone(row[name]) for name in ("value", "other_value")}


@change
def an_unrelated_partition(draw: Draw, case: Case) -> tuple[Case, Undo]:
    """Its messages are sent and received by others when all else has begun."""
    count, operations = draw(st.integers(1, 5)), case.operations.num_rows
    start_ns = pc.max(case.operations["start_ns"]).as_py() or 0
    process = (pc.max(case.operations["process"]).as_py() or 0) + 1
    producer = 1 + max((number for sheet in case.parts for number in producers(sheet.messages)), default=0)
    topic = draw(st.sampled_from(["unrelated", "a"]))
    made: dict[str, Rows] = {"operations": [], "messages": []}
    for op in range(2 * count):
        f, number = ("send", op) if op < count else ("poll", op - count)
        client = {"client": f"unrelated-{f}", "process": process + (f == "poll"), "f": f, "outcome": "ok"}
        made["operations"].append({"op": operations + op, "start_ns": start_ns, "end_ns": start_ns, **client})
        message = {"topic": topic, "partition": 900, "value": producer << PRODUCER_SHIFT | number, "position": number}
        direction = {"direction": "sent" if f == "send" else "received", "payload": "ok"}
        made["messages"].append({"op": operations + op, **message, **direction})
    like = case.parts[0].setting if case.parts else PartitionSetting(topic, 900)
    setting = replace(like, topic=topic, partition=900, audit=None)
    part = Sheet(setting, pa.Table.from_pylist(made["messages"], MESSAGES), OBSERVATIONS.empty_table())
    parts = list(case.parts)
    parts.insert(draw(st.integers(0, len(parts))), part)
    more = pa.Table.from_pylist(made["operations"], OPERATIONS).cast(case.operations.schema)
    return Case(tuple(parts), pa.concat_tables([case.operations, more]).unify_dictionaries()), same


def replaced(table: pa.Table, **columns: Any) -> pa.Table:
    """Return a table with other columns in place of those of their names."""
    for name, column in columns.items():
        index = table.schema.get_field_index(name)
        field = table.schema.field(index)
        arrow = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, field.type)
        table = table.set_column(index, field, arrow.cast(field.type) if arrow.type != field.type else arrow)
    return table


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without its dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def of_messages(table: pa.Table) -> Flags:
    """Return which rows, messages or observations, name a message by its value."""
    named: Flags = table["value"].fill_null(-1).to_numpy() >= 0
    if "kind" in table.schema.names:
        named &= np.asarray(pc.is_in(table["kind"].cast(pa.string()), value_set=pa.array(OF_MESSAGES)))
    return named


def producers(table: pa.Table) -> list[int]:
    """Return the numbers of all producers of messages that a table names."""
    values = table["value"].to_numpy()[of_messages(table)].astype(np.int64)
    numbers: list[int] = np.unique(values >> PRODUCER_SHIFT).tolist()
    return numbers


def pieces(draw: Draw, table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table cut anywhere."""
    bounds = [0, *sorted(draw(st.lists(st.integers(0, table.num_rows), max_size=4))), table.num_rows]
    for start, stop in pairwise(bounds):
        yield table.slice(start, stop - start)


TIES: dict[str, dict[str, tuple[str, ...]]] = {
    "other_topics_and_partition_numbers": dict.fromkeys((*CYCLES, "torn-transaction"), EVIDENCE),
}
"""What a change may decide between equals: which of the smallest cycles is told, which parts of a transaction."""


def changed_by(names: list[str], draw: Draw, case: Case) -> tuple[Case, Undo]:
    """Make several changes one after the other."""
    undoings: list[Undo] = []
    for name in names:
        event(name)
        case, undo = CHANGES[name](draw, case)
        undoings.insert(0, undo)

    def undo_all(row: Row) -> Row:
        for undo in undoings:
            row = undo(row)
        return row

    return case, undo_all


def untied(row: Row, ties: dict[str, tuple[str, ...]]) -> Row:
    """Return a finding without what may be told in several ways; of a cycle its size remains."""
    size = {"detail": row["detail"].count("->")} if row["anomaly"] in CYCLES and row["anomaly"] in ties else {}
    return row | dict.fromkeys(ties.get(row["anomaly"], ())) | size


def unrelated(row: Row) -> bool:
    """Tell whether a finding is of the partition that `an_unrelated_partition` adds."""
    return bool(row["partition"] == 900)
