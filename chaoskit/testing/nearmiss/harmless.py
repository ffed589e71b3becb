"""Near misses that change nothing for any finding: what was explained must still be, and nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from chaoskit.contract.installed import nemesis
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.effects import effects
from chaoskit.testing.nearmiss.change import RunChange
from chaoskit.testing.nearmiss.idle import beside
from chaoskit.testing.nearmiss.stored import StoredRun, numbers_of

_FURTHER = 1_000
"""A multiple of any number of groups or seats, by which the number in the name of a client is raised."""


def harmless(run: StoredRun) -> Iterator[RunChange]:
    """Yield the changes of a run that change nothing for its findings."""
    for words, fault in beside(run):
        kind = "second-pause" if fault.kind == "client-pause" else "idle-beside"
        yield _same(run, kind, words, faults=(*run.faults, fault))
    for fault in run.faults:
        if len(fault.targets) > 1 and _can_be_split(fault):
            yield _same(run, "split", f"{fault.kind}: one for each of {', '.join(fault.targets)}", _split(run, fault))
    involved = {*run.clients_of_findings, *(name for fault in run.faults for name in fault.targets)}
    bystanders = [name for name in run.clients if name.startswith("consumer-") and name not in involved]
    for name in bystanders[:1]:
        role, _, number = name.rpartition("-")
        if number.isdecimal():
            another = f"{role}-{int(number) + _FURTHER * _FURTHER}"
            yield replace(_same(run, "renamed", f"{name} is {another}"), history=_renamed(run.history, name, another))


def _same(run: StoredRun, kind: str, words: str, faults: tuple[Fault, ...] | None = None) -> RunChange:
    return RunChange(
        kind=kind,
        words=words,
        rows=run.explained_rows,
        faults=run.faults if faults is None else faults,
        nothing_new=True,
    )


def _can_be_split(fault: Fault) -> bool:
    """Return whether a fault did to each of its targets what it did, and not to one because of another."""
    (effect,) = effects([fault])
    return nemesis(fault.kind).hits == "clients" or not (effect.on_links and "targets" in effect.peers)


def _split(run: StoredRun, fault: Fault) -> tuple[Fault, ...]:
    """Return the faults of a run, one of them as one for each of its targets, with the same times."""
    first = max(numbers_of(run.history.recorded_faults)) + 1
    numbers = [fault.number, *range(first, first + len(fault.targets) - 1)]
    parts = [
        replace(fault, number=number, targets=(name,), on=(name,))
        for number, name in zip(numbers, fault.targets, strict=True)
    ]
    others = [other for other in run.faults if other.number != fault.number]
    return tuple(sorted([*others, *parts], key=lambda part: part.number))


def _renamed(history: History, name: str, another: str) -> History:
    """Return a history in which one client has another name."""
    renamed = History(history.folder, history.partitions, history.models)
    operations = history.operations
    column = operations["client"].combine_chunks()
    column = column if isinstance(column, pa.DictionaryArray) else column.chunk(0)
    known = column.dictionary.to_pylist()
    names = [another + text[len(name) :] if text.partition("#")[0] == name else text for text in known]
    changed = pa.DictionaryArray.from_arrays(column.indices, pa.array(names, column.dictionary.type))
    index = operations.schema.get_field_index("client")
    renamed.operations = operations.set_column(index, operations.schema.field(index), changed)
    return renamed
