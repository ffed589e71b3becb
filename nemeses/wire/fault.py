"""The fault `wire`: one kind of request or response is dropped, delayed, doubled, changed, or ends its connection."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import SECOND, parse_duration
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.exploring import Aim, Passed, Wishes
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Messages
from chaoskit.contract.hosts.host import Doubt, PowerSwitch, ServiceHost
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.system import System
from chaoskit.contract.systems.wire import Decoding, Tapped, Wire
from nemeses.holding import check_held, hold, release
from nemeses.wire import aims, placing, rules
from nemeses.wire.carried import Carried

_EFFECT_S = 10.0
"""How long the first message that something is done with may take; a group's heartbeats come every 3 s. A load that is
to see it is shorter: `WireFault.load_ns`."""

_POLL_S = 0.1
_HITS_MAX = 12
"""So many correlation ids are told."""

_DONE = {
    rules.DROP: "dropped",
    rules.DROP_AND_CLOSE: "dropped, each with its connection closed",
    rules.CLOSE_BEFORE: "lost by a reset of their connections",
    rules.CLOSE_AFTER: "passed, each with its connection closed afterwards",
    rules.DELAY: "delayed",
    rules.DUPLICATE: "passed twice",
    rules.ERROR: "made errors",
    rules.HOLD_UNTIL: "held back",
    rules.TRUNCATE: "cut in half, each with its connection closed",
    rules.GARBLE: "changed in one byte",
    rules.COUNT: "counted",
}

_LOSING = (rules.DROP, rules.DROP_AND_CLOSE, rules.CLOSE_BEFORE, rules.CLOSE_AFTER, rules.TRUNCATE, rules.GARBLE)
"""What loses a message, or what else was under way on its connection."""


def _known_action(then: str) -> str:
    action, _, argument = then.partition(" ")
    if action not in (*rules.PLAIN, *rules.WITH_ARGUMENT):
        raise ValueError(f"there is no {action!r}; {nearest(action, [*rules.PLAIN, *rules.WITH_ARGUMENT])}")
    if action in rules.PLAIN and argument:
        raise ValueError(f"{action} takes no argument; remove {argument!r}")
    if action in rules.WITH_ARGUMENT and not argument:
        raise ValueError(f"{action} needs {rules.WITH_ARGUMENT[action]}")
    if action == rules.DELAY:
        parse_duration(argument)
    return then


Number = Annotated[int, Field(ge=1)]


class WireParameters(BaseModel):
    """Which messages, by their names in the system's own protocol, and what is done with them.

    Attributes:
        message: name of the request, also where its responses are meant; `*`: any, of clients that are named; to be
            counted, those of both directions.
        of: whether the request or its response is meant.
        of_client: pattern of the names that clients give themselves.
        which: numbers of the matching messages that are chosen; empty: any.
        every: every so many matching messages one is chosen.
        first: number of the first one that may be chosen.
        count: how many are chosen at most.
        share: the share that is chosen at random.
        then: what is done, with its argument.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    message: str
    of: Literal["request", "response"] = "request"
    of_client: str = "*"
    which: list[Number] = []
    every: Number = 1
    first: Number = Field(default=1, alias="from")
    count: Number | None = None
    share: float = Field(default=1, gt=0, le=1)
    then: Annotated[str, AfterValidator(_known_action)]

    @model_validator(mode="after")
    def _is_possible(self) -> WireParameters:
        if self.which and self.model_fields_set & {"every", "first", "count", "share"}:
            raise ValueError("which names the messages; remove every, from, count and share")
        if self.action == rules.ERROR and self.of == "request":
            raise ValueError("then: error changes an answer; write of: response")
        if self.message == rules.ANY and self.action in {rules.ERROR, rules.HOLD_UNTIL}:
            raise ValueError(f"message: * cannot be used with {self.action}; name a message")
        if self.message == rules.ANY and self.action != rules.COUNT and self.of_client == "*":
            raise ValueError(f"message: * of any client can only be counted; write of_client, or then: {rules.COUNT}")
        return self

    @property
    def action(self) -> str:
        """What is done, without its argument."""
        return self.then.partition(" ")[0]

    @property
    def argument(self) -> Any:
        """The argument of what is done: a time in ns, a message or an error; None if it has none."""
        argument = self.then.partition(" ")[2]
        return parse_duration(argument) if self.action == rules.DELAY else argument or None

    def rule(self, seed: int) -> dict[str, Any]:
        """Return the fields of `nemeses.wire.rules.TapRule`, as JSON values."""
        same = self.model_dump(exclude={"then"})
        return {**same, "then": self.action, "argument": self.argument, "seed": seed}


@dataclass(slots=True)
class _Placed:
    """When the rule began (CLOCK_MONOTONIC, ns); by host, how many connections had escaped its tap, and how often it
    had booted."""

    began_ns: int | None = None
    escaped: dict[str, int] = field(default_factory=dict)
    boots: dict[str, int] = field(default_factory=dict)


class WireFault(Nemesis):
    """Taps on the targets, in place from the start of the run, do it to single messages."""

    summary = "drop, delay, duplicate, refuse or damage chosen requests or responses of the system's protocol"
    family = "wire"
    on_links = True
    tools = ("nft", "ip", "ss")
    parameters = WireParameters
    service_powers = (Installation, Tapped)
    actions = (rules.DROP, rules.DROP_AND_CLOSE, rules.DUPLICATE, f"{rules.DELAY} 3s")
    load_ns = 8 * SECOND

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.CONNECTIONS}

    def prepare(self, system: System, options: Any, parameters: WireParameters) -> None:
        """See `chaoskit.contract.faults.nemesis.Preparing`: refuse what the system's protocol does not have."""
        check_names(_wire(system, options), parameters)

    def acts(self, parameters: WireParameters) -> Act:
        return Act.NONE if parameters.action == rules.COUNT else Act.MESSAGES

    def messages(self, parameters: WireParameters) -> Messages | None:
        action = parameters.action
        late_ns: int | None = parameters.argument if action == rules.DELAY else 0
        if action == rules.HOLD_UNTIL:
            late_ns = None
        return Messages(
            name=parameters.message,
            answers=parameters.of == rules.RESPONSE,
            client=parameters.of_client,
            most=len(parameters.which) or parameters.count,
            loses=action in _LOSING,
            doubles=action == rules.DUPLICATE,
            fails=action == rules.ERROR,
            late_ns=late_ns,
        )

    def precede(self, service: Powered, hosts: Sequence[ServiceHost]) -> None:
        """See `chaoskit.contract.faults.nemesis.Preceding`: place the taps before there is a connection."""
        wire = service.power(Tapped).wire
        on_each(hosts, lambda host: placing.place(host, wire))

    def inject(self, strike: Strike) -> None:
        wire = strike.service.power(Tapped).wire
        act, undo = placing.scripts(strike.name, strike.parameters.rule(strike.seed))
        placed = strike.kept(_Placed)
        placed.began_ns = placed.began_ns or time.monotonic_ns()

        def put(host: ServiceHost) -> None:
            placed.escaped[host.name] = placing.place_late(host, wire)
            placed.boots[host.name] = _boots(host)
            hold(strike, host, act, undo)

        on_each(strike.hosts, put)

    def verify(self, strike: Strike) -> Evidence:
        deadline = time.monotonic() + _EFFECT_S
        reports = _known(strike)
        while not any(report.done for report in reports.values()):
            if time.monotonic() > deadline:
                raise NemesisError(
                    f"the rule was applied to no message within {_EFFECT_S:g} s: {_words(strike, reports)}"
                )
            time.sleep(_POLL_S)
            reports = _known(strike)
        escaped = {host.name: strike.kept(_Placed).escaped.get(host.name, 0) for host in strike.hosts}
        late = [f"{count} connections of {name} had bypassed the tap and were reset" for name, count in escaped.items()]
        sentences = [f"so far {_words(strike, reports)}", *(words for words in late if words[0] != "0")]
        return Evidence("; ".join(sentences), _figures(strike, reports))

    def names(self, system: Any, options: Any) -> Mapping[str, Sequence[str]]:
        """See `chaoskit.contract.faults.exploring.Exploring`."""
        wire = _wire(system, options)
        return {rules.REQUEST: wire.messages, rules.RESPONSE: wire.answers or wire.messages}

    def counting(self, hosts: Sequence[str]) -> Mapping[str, Any]:
        """See `chaoskit.contract.faults.exploring.Exploring`."""
        return {"on": list(hosts), "message": rules.ANY, "then": rules.COUNT}

    def passed(self, figures: Mapping[str, Mapping[str, Any]]) -> Passed:
        """See `chaoskit.contract.faults.exploring.Exploring`."""
        return {
            (host, direction, name): count
            for host, tally in figures.items()
            for direction in (rules.REQUEST, rules.RESPONSE)
            for name, count in tally.get(direction, {}).items()
        }

    def aims(self, passed: Passed, hosts: Sequence[str], wishes: Wishes) -> Iterator[Aim]:
        """See `chaoskit.contract.faults.exploring.Exploring`."""
        return aims.aims(passed, hosts, wishes)

    def keys(self, aim: Aim) -> Mapping[str, Any]:
        """See `chaoskit.contract.faults.exploring.Exploring`."""
        if aim.then == rules.COUNT:
            raise BadInput(f"{rules.COUNT} does nothing; remove it")
        return {"on": list(aim.on), "message": aim.message, "of": aim.of, "which": [aim.number], "then": aim.then}

    def heal(self, strike: Strike) -> None:
        release(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        reports = _counts(strike)
        for host in strike.hosts:
            if reports[host.name].holds:
                raise NemesisError(f"the rule is still in effect on {host.name}")
            _doubt(strike, host, reports[host.name])
        check_held(strike)
        sentence = f"{_words(strike, reports)}; the rule has ended, and nothing is held back"
        return Evidence(sentence, _figures(strike, reports))


def _wire(system: System, options: Any) -> Wire:
    if not isinstance(system, Decoding):
        raise BadInput("the protocol of this system is unknown to chaoskit; use another kind of fault")
    return system.wire(options)


def check_names(wire: Wire, parameters: WireParameters) -> None:
    """Refuse messages and errors that a protocol does not have.

    Raises:
        BadInput: names the key and the remedy.
    """
    if parameters.of_client != "*" and not wire.named:
        raise BadInput("of_client: this protocol has no client names; remove it")
    if parameters.message == rules.ANY:
        return
    names = wire.answers if wire.answers and parameters.of == rules.RESPONSE else wire.messages
    if parameters.message not in names:
        raise BadInput(f"message: there is no {parameters.of} {parameters.message!r}; {_meant(wire, parameters)}")
    if parameters.action == rules.HOLD_UNTIL and parameters.argument not in wire.messages:
        argument = str(parameters.argument)
        raise BadInput(f"then: hold-until: there is no {argument!r}; {nearest(argument, wire.messages)}")
    if parameters.action == rules.ERROR:
        argument = str(parameters.argument)
        known = {error for errors in wire.refusable.values() for error in errors}
        if known and argument not in known:
            raise BadInput(f"then: error: there is no {argument!r}; {nearest(argument, known)}")
        if parameters.message not in wire.refusable:
            others = ", ".join(wire.refusable) or "no message of this protocol"
            raise BadInput(f"then: error: cannot be used with {parameters.message}, only with {others}")
        if argument not in (errors := wire.refusable[parameters.message]):
            raise BadInput(f"then: error: {parameters.message} has no {argument!r}; {nearest(argument, errors)}")


def _meant(wire: Wire, parameters: WireParameters) -> str:
    """Return what may have been meant by a name that one direction does not have."""
    here, other = wire.messages, wire.answers
    if parameters.of == rules.RESPONSE and other:
        here, other = other, here
    if parameters.message in other:
        return f"the other direction has it: write of: {'request' if parameters.of == rules.RESPONSE else 'response'}"
    return nearest(parameters.message, here)


class _Report(NamedTuple):
    """What a tap tells.

    Attributes:
        known: whether there is one that knows the rule.
        holds: whether the rule is in effect.
        matched: number of messages that matched.
        done: with how many of them something was done.
        hits: of those the correlation id, when it was done (CLOCK_MONOTONIC, ns), and what was carried; see
            `nemeses.wire.carried`.
        tally: how many there were of each kind, if they are counted.
        unread: number of connections whose bytes are no messages of the protocol.
    """

    known: bool = False
    holds: bool = False
    matched: int = 0
    done: int = 0
    hits: Sequence[tuple[int, int, Carried]] = ()
    tally: Mapping[str, int] = MappingProxyType({})
    unread: int = 0


def _counts(strike: Strike) -> dict[str, _Report]:
    """Return by host what its tap tells."""

    def ask(host: ServiceHost) -> _Report:
        state = None if strike.is_dark(host) else placing.call(host, {"report": strike.name})
        if state is None or (rule := state["rule"]) is None:
            return _Report()
        return _Report(
            True,
            strike.name in state["rules"],
            rule["matched"],
            rule["done"],
            rule["hits"],
            rule["tally"],
            state["unread"],
        )

    return dict(zip((host.name for host in strike.hosts), on_each(strike.hosts, ask), strict=True))


def _known(strike: Strike) -> dict[str, _Report]:
    """Return the same.

    Raises:
        NemesisError: a tap has ended.
    """
    reports = _counts(strike)
    for host in strike.hosts:
        if not reports[host.name].known and not strike.is_dark(host):
            raise NemesisError(placing.ended(host))
    return reports


def _doubt(strike: Strike, host: ServiceHost, report: _Report) -> None:
    """Tell the run what passed the tap untouched."""
    if not report.known and strike.kept(_Placed).boots.get(host.name) == _boots(host):
        strike.doubt(Doubt(time.monotonic_ns(), placing.ended(host), "messages passed untouched"))
    if report.unread:
        words = f"{report.unread} connections with {host.name} did not use the protocol that its tap reads"
        strike.doubt(Doubt(time.monotonic_ns(), words, "their messages passed untouched"))


def _boots(host: ServiceHost) -> int:
    switch = optional(host, PowerSwitch)
    return 0 if switch is None else switch.boots


def _figures(strike: Strike, reports: Mapping[str, _Report]) -> dict[str, dict[str, Any]]:
    if strike.parameters.action == rules.COUNT:
        return {name: dict(aims.figures_of(report.tally)) for name, report in reports.items()}
    return {name: {"matched": report.matched, "done": report.done} for name, report in reports.items()}


def _words(strike: Strike, reports: dict[str, _Report]) -> str:
    """Return on how many messages the fault acted."""
    asked: WireParameters = strike.parameters
    if asked.action == rules.COUNT:
        return aims.counted({name: report.tally for name, report in reports.items()})
    what = f"{asked.message} {asked.of}s"
    parts = []
    for name, report in reports.items():
        hits = [_hit(strike, *hit) for hit in report.hits[:_HITS_MAX]] + ["..."] * (report.done > _HITS_MAX)
        shown = f" (correlation ids {', '.join(hits)})" if hits else ""
        parts.append(f"{name}: {report.done} of {report.matched} {what} {_DONE[asked.action]}{shown}")
    return "; ".join(parts)


def _hit(strike: Strike, correlation: int, at_ns: int, carried: Carried) -> str:
    """Return a correlation id, what its message or its request carried, and how long after the fault began something
    was done with it, if known.
    """
    words = str(correlation)
    if carried:
        count, first, last = carried
        words += f" with value {first}" if count == 1 else f" with {count} values from {first} to {last}"
    began_ns = strike.kept(_Placed).began_ns
    return words if began_ns is None else f"{words} after {(at_ns - began_ns) / 1e9:.3f} s"
