"""Anomalies: what can go wrong with a message, under the names used in verdict.json and findings.parquet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto

from chaoskit.contract.workloads.datamodel import MODELS, DataModel


class About(Enum):
    """What a finding is about; it determines which faults may explain it.

    `MESSAGE`: one message; the fault must fit the time at which it was written. `PAIR`: two messages; it must fit one
    of them. `READING`: what a reader or consumer experienced at `at_ns`.
    """

    MESSAGE = auto()
    PAIR = auto()
    READING = auto()


class Gone(Enum):
    """What an anomaly says of acknowledged messages that an application does not get.

    `NO`: nothing. `LOST`: its messages are lost; one may be found under several such anomalies. `CUT`: a log does not
    have its messages any more; whether they are lost is found by others. `EXPIRED`: the system deleted them by itself;
    unless the declared retention explains that, they are lost. `DROPPED`: a declared limit dropped them. `VANISHED`: no
    application gets them, whatever explains that. `REPLACED`: a later one of its key stands for it, as it should, and a
    log does not have it any more. `UNSEEN`: whether they are lost is not decided.
    """

    NO = auto()
    LOST = auto()
    CUT = auto()
    EXPIRED = auto()
    DROPPED = auto()
    VANISHED = auto()
    REPLACED = auto()
    UNSEEN = auto()


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly, defined next to the function that detects it.

    Attributes:
        name: stable name.
        meaning: what went wrong, in one sentence.
        models: the topic models in which it can occur.
        implies: further anomalies with the same cause; a rule that allows this one allows them too.
        doubt: what could not be decided, if it proves nothing: the verdict is at best unknown. Otherwise empty.
        measured: it is a measurement, about which no system gives a guarantee. It is allowed unless the scenario's
            `expect` says otherwise.
        lasting: its findings last, from `since_ns` to `at_ns`: verdict.json tells for how long, and a scenario can
            bound the longest of them.
        about: what its findings are about.
        spans: it is a jump over messages of one producer, from one to another: what explains all that was found of the
            messages from the one to the other explains it.
        shared: it depends on state that is not stored with the partition, such as the offsets of groups, so a fault
            need not have hit a host that stored the partition.
        gone: what it says of messages that an application does not get.
        became: for `EXPIRED`, `DROPPED` and `VANISHED`: what became of its messages, such as `were dropped`.
        tabled: whether a sweep's table counts it unless the sweep says otherwise.
        notable: whether the headline tells it even if it is allowed.
        remedy: what makes it rarer, where it is measured, and so no rule has a remedy.
        needs: kinds of observations without all of which nothing is found: an expectation about it is then not judged.
        only_with: the trait of workloads without which it is not looked for (`chaoskit.contract.workloads.traits`);
            None: any.
        one_by_one: whether it is looked for only where messages are recorded one by one.
        of_application: it is about the application under test, whose promise decides, and not about the system.
    """

    name: str
    meaning: str
    models: Collection[DataModel]
    implies: tuple[str, ...] = ()
    doubt: str = ""
    measured: bool = False
    lasting: bool = False
    about: About = About.MESSAGE
    spans: bool = False
    shared: bool = False
    gone: Gone = Gone.NO
    became: str = ""
    tabled: bool = False
    notable: bool = False
    remedy: str = ""
    needs: tuple[str, ...] = ()
    only_with: type | None = None
    one_by_one: bool = False
    of_application: bool = False


CRASHED = Anomaly(
    "crashed",
    "a service exited or hung without a fault, and was restarted",
    MODELS,
    about=About.READING,
)
"""Found by the harness, not by a checker: the topic of a finding is `SERVICE@HOST`."""
