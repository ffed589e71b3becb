"""What a scenario expects: how many findings of an anomaly, and bounds of what is measured."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, PlainSerializer

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.quantities import format_duration, parse_duration
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.guarantees.guarantee import Declared

Number = Literal["none", "some", "any"] | int


class ExpectedConsequence(BaseModel):
    """The consequence that a fault must have.

    Attributes:
        consequence: `some`: anything; `none`: nothing; or a change of membership that must be among what it changed, as
            in `chaoskit.judge.faults.consequence.Change`; or what its clients must have experienced.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    consequence: Literal[
        "some",
        "none",
        "out-of-sync",
        "new-leader",
        "no-leader",
        "left",
        "joined",
        "new-owner",
        "unsubscribed",
        "not-acknowledged",
        "stalled",
        "degraded",
        "unheard",
    ]


KNOWN_LATER = ("none", "new-owner", "unsubscribed", "unheard")
"""Consequences that nobody knows while the load lasts."""

UNAVAILABLE, UNHEARD, RECOVERED = "unavailable", "unheard", "recovered"
LATENCIES = {
    f"{what}.{percentile}": (what, f"{percentile}_ms")
    for what in ("send", "end_to_end")
    for percentile in ("p50", "p99", "p999", "max")
}
"""The latencies that can have a bound, and where verdict.json has each: the messages and the percentile."""

MEASURES = (UNAVAILABLE, UNHEARD, RECOVERED, *LATENCIES)
"""What can have a bound, besides anomalies that last."""

_PHASES = ("quiet", "under faults", "after faults")
_BOUND = re.compile(r"([<>])\s*([^()]*?)\s*(?:\(([^()]*)\))?")
_EXAMPLE = 'such as "< 5s"'


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a measured time.

    Attributes:
        below: whether the time must be shorter than the limit; otherwise it must be longer.
        limit_ns: the limit.
        phase: of which part of the load, as in the `latency` of verdict.json; empty: of the whole load.
    """

    below: bool
    limit_ns: int
    phase: str = ""

    def __str__(self) -> str:
        """Return the bound as in a scenario."""
        phase = f" ({self.phase.replace('_', ' ')})" if self.phase else ""
        return f"{'<' if self.below else '>'} {format_duration(self.limit_ns)}{phase}"


def parse_bound(text: str) -> Bound:
    """Return a bound.

    >>> str(parse_bound("<200ms (under faults)"))
    '< 200ms (under faults)'

    Raises:
        ValueError: the text is no bound.
    """
    match = _BOUND.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a bound; write < or > and a duration, {_EXAMPLE}")
    if match[2].isdigit():
        raise ValueError(
            f"{text!r}: only times have bounds, {_EXAMPLE}; for findings write none, some, any or a number"
        )
    if match[2].startswith("="):
        raise ValueError(f"{text!r} is not a bound; write < or >, without =")
    words = match[3]
    if words is not None and words not in _PHASES:
        raise ValueError(f"unknown part of the load {words!r}; {nearest(words, _PHASES)}")
    return Bound(match[1] == "<", parse_duration(match[2]), (words or "").replace(" ", "_"))


def _parse(given: object) -> Number | Bound:
    if given in ("none", "some", "any") or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    if isinstance(given, str) and given.strip()[:1] in ("<", ">"):
        return parse_bound(given)
    raise ValueError(f"write none, some, any or a number of findings, or a bound, {_EXAMPLE}")


Expected = Annotated[
    Literal["none", "some", "any"] | int | InstanceOf[Bound],
    BeforeValidator(_parse, json_schema_input_type=Literal["none", "some", "any"] | int | str),
    PlainSerializer(lambda value: str(value) if isinstance(value, Bound) else value),
]
"""A number of findings, or a bound."""


def check_expected(expect: Mapping[str, Any], anomalies: Mapping[str, Anomaly]) -> None:
    """Reject what can be neither found nor measured.

    Args:
        expect: as in a scenario.
        anomalies: all anomalies, by name.

    Raises:
        BadInput: names each wrong key.
    """
    if wrong := list(_wrong(expect, anomalies)):
        raise BadInput("\n".join(wrong))


def check_findable(expect: Mapping[str, Any], anomalies: Mapping[str, Anomaly], declared: Declared) -> None:
    """Reject expectations that a run of this kind cannot fail, because what they are about is not looked for.

    Raises:
        BadInput: names each of them.
    """
    if wrong := list(_not_looked_for(expect, anomalies, declared)):
        raise BadInput("\n".join(wrong))


def _not_looked_for(expect: Mapping[str, Any], anomalies: Mapping[str, Anomaly], declared: Declared) -> Iterator[str]:
    models = {topic.model for topic in declared.topics}
    for anomaly in (anomalies[name] for name in expect if name in anomalies):
        where = f"expect.{anomaly.name}: cannot be found"
        if models and not models & {*anomaly.models}:  # a live cluster begins without topics
            served, handled = (", ".join(sorted(model.name for model in some)) for some in (models, anomaly.models))
            yield f"{where} in topics of the model {served}, only in those of {handled}; remove it"
        elif anomaly.only_with is not None and declared.get(anomaly.only_with) is None:
            meaning = re.split("[.:]", inspect.cleandoc(anomaly.only_with.__doc__ or ""))[0]
            yield f"{where} in this run, only where {meaning[:1].lower()}{meaning[1:]}; remove it"


def _wrong(expect: Mapping[str, Any], anomalies: Mapping[str, Anomaly]) -> Iterator[str]:
    bounded = (*MEASURES, *(name for name, anomaly in anomalies.items() if anomaly.lasting))
    for name, expected in expect.items():
        bound = isinstance(expected, Bound)
        if name in (bounded if bound else anomalies):
            if bound and expected.phase and name not in LATENCIES:
                plain = replace(expected, phase="")
                yield f"expect.{name}: only latencies are measured by part of the load; write {plain}"
        elif bound and name in anomalies:
            yield f"expect.{name}: does not last, and has no bound; write none, some, any or a number of findings"
        elif name in MEASURES:
            yield f"expect.{name}: is a time; write a bound, {_EXAMPLE}"
        else:
            known = bounded if bound else anomalies
            yield f"expect.{name}: unknown {'measure' if bound else 'anomaly'}; {nearest(name, known)}"


def numbers(expect: Mapping[str, Number | Bound]) -> dict[str, Number]:
    """Return the numbers of findings that are expected, by anomaly."""
    return {name: number for name, number in expect.items() if not isinstance(number, Bound)}


def bounds(expect: Mapping[str, Number | Bound]) -> dict[str, Bound]:
    """Return the bounds that are expected, by measure."""
    return {name: bound for name, bound in expect.items() if isinstance(bound, Bound)}
