"""A verdict on one screen: what became of the data, why, how to prevent it, what the faults did, and what it cost."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.plain import one_line, plain
from chaoskit.contract import installed
from chaoskit.judge.verdict.bounds import describe
from chaoskit.judge.verdict.verdict import VALID, Found, Verdict
from chaoskit.report.following import in_order
from chaoskit.report.last_valid import since_last_valid
from chaoskit.report.printed import printed_lines
from chaoskit.report.run_page import REPORT
from chaoskit.report.summary import head, hit, program, replay_command, silence
from chaoskit.report.words import PAID_WORDS, ended_in_words, p99

LINES = 25
"""At most so many lines."""

_WIDTH = 100
_SHOWN = 3
_CAUSES = 2
_SILENT_MS = 500
"""A shorter silence of a reader is not told."""


def brief(verdict: Verdict, folder: Path) -> str:
    """Return what one looks for first of a run, as plain text of at most `LINES` lines; `chaoskit.report.summary` has
    all of it."""
    reasons = _reasons(verdict)  # their lines are told apart by newlines, which are escaped from here on
    verdict = plain(verdict)
    ending = list(_ending(verdict, folder))
    lines = [*_wrapped(head(verdict), first=""), *reasons, ""]
    lines += [*_anomalies(verdict, folder), *_faults(verdict.faults), *_ended(verdict), *_cost(verdict)]
    if len(lines) + len(ending) > LINES:
        lines = [*lines[: LINES - len(ending) - 1], "  ... (--details)"]
    return "\n".join([*lines, *ending])


def _wrapped(texts: Iterable[str], *, first: str = "  ", most: int = 3) -> Iterator[str]:
    for text in texts:
        following = f"{first}  "
        yield from textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=first,
            subsequent_indent=following,
            max_lines=most,
            placeholder=" ...",
            break_on_hyphens=False,
        )


def _reasons(verdict: Verdict) -> Iterator[str]:
    new = [reason for reason in verdict.reasons if reason not in verdict.headline]
    for reason in new[:_SHOWN]:
        said, *logged = map(one_line, reason.split("\n"))
        yield from _wrapped([said], most=2)
        yield from _wrapped(logged[:_SHOWN], first="    ", most=1)
    if len(new) > _SHOWN:
        yield f"  and {len(new) - _SHOWN} more reasons"


def _anomalies(verdict: Verdict, folder: Path) -> Iterator[str]:
    """Yield what was found, what is not allowed first, with its cause and remedy; what follows from it in one line."""
    known = installed.anomalies()
    shown = {name for name, anomaly in verdict.anomalies.items() if not (known[name].measured and anomaly.allowed)}
    counted = [
        (name, follows)
        for name, follows in in_order(verdict.anomalies)
        if verdict.anomalies[name].count and name in shown
    ]
    roots: list[tuple[str, list[str]]] = []
    for name, follows in counted:
        if follows:
            roots[-1][1].append(f"{name} {verdict.anomalies[name].count:,}")
        else:
            roots.append((name, []))
    roots.sort(key=lambda root: verdict.anomalies[root[0]].allowed)
    fed = any(known[name].of_application for name in verdict.anomalies)
    for name, following in roots[:_SHOWN]:
        yield from _anomaly(name, verdict.anomalies[name], following, folder)
        if fed and not known[name].of_application and (examples := verdict.anomalies[name].examples):
            whose = f"of the inputs in {examples[0]['topic']}, which chaoskit sent, not of your program"
            yield from _wrapped([whose], first="    ", most=2)
    if rest := roots[_SHOWN:]:
        named = ", ".join(f"{name} {verdict.anomalies[name].count:,}" for name, _ in rest)
        yield from _wrapped([f"also found: {named}"], most=2)
    unseen = [name for name, anomaly in verdict.anomalies.items() if not anomaly.count]
    if unseen and verdict.audit["complete"]:
        yield from _wrapped([f"not found: {', '.join(unseen)}"], most=1)
    if verdict.tolerated and not verdict.lost:
        yield from _wrapped([f"settings that would allow a loss: {'; '.join(verdict.tolerated)}"], most=2)


def _anomaly(name: str, anomaly: Found, following: Sequence[str], folder: Path) -> Iterator[str]:
    yield f"  {name}: {anomaly.count:,}  {'allowed' if anomaly.allowed else 'NOT ALLOWED'}"
    causes = sorted(anomaly.causes, key=lambda cause: -cause["count"])
    for cause in causes[:_CAUSES]:
        counted = f"{cause['count']:,} by " if len(causes) > 1 else ""
        story = f": {cause['story']}" if cause.get("story") else ""
        text = f"{counted}{cause['what'] or 'settings alone'} ({cause['rule']}){story}"
        yield from _wrapped([text], first="    ", most=2)
    if not causes:
        yield from _wrapped([anomaly.why], first="    ", most=2)
    if installed.anomalies()[name].of_application and anomaly.examples:
        yield from _wrapped([anomaly.examples[0]["detail"]], first="    ", most=3)
        yield from printed_lines(folder, name, anomaly.examples[0])
    if anomaly.remedy:
        yield from _wrapped([f"to prevent it: {anomaly.remedy}"], first="    ", most=2)
    if following:
        yield from _wrapped([f"and so: {', '.join(following)}"], first="    ", most=2)


def _faults(faults: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for fault in faults[:_SHOWN]:
        healed = f"healed at {fault['healed_at_ms'] / 1000:.1f} s" if fault["healed"] else "NOT healed"
        proof = _proof(fault) if fault["effective"] else "NO EFFECT"
        stake = "" if fault.get("at_stake") is None else f", {fault['at_stake']:,} at stake"
        text = f"{hit(fault)} at {fault['at_ms'] / 1000:.1f} s, {healed}{stake}: {proof}"
        yield from _wrapped([f"fault: {text}"], most=2)
    if len(faults) > _SHOWN:
        effective = sum(bool(fault["effective"]) for fault in faults)
        yield f"  and {len(faults) - _SHOWN} more faults; of all {len(faults)}, {effective} took effect"


def _ended(verdict: Verdict) -> Iterator[str]:
    ended = list(ended_in_words(verdict.ended))
    yield from (f"  {words}" for words in ended[:_CAUSES])
    if len(ended) > _CAUSES:
        yield f"  and {len(ended) - _CAUSES} more ways in which instances ended by themselves"


def _proof(fault: Mapping[str, Any]) -> str:
    """Return the proof of a fault: of one that counted what it did, what it had done in the end."""
    pieces = [piece for piece in fault["evidence"].split("; ") if not piece.startswith("began ")] or [""]
    if not pieces[0].startswith("so far "):
        return str(pieces[0])
    last = {piece.partition(":")[0]: piece for piece in pieces if piece.partition(":")[0] in fault["targets"]}
    return "; ".join(last.values()) or str(pieces[0])


def _cost(verdict: Verdict) -> Iterator[str]:
    if not verdict.counts["acked"]:
        return  # there is no latency, and no time between acknowledgements
    quiet, send = (verdict.latency.get(name, {}) for name in ("quiet", "send"))
    cost = f"send p99 {p99(send)}"
    if verdict.faults and "send" in quiet:
        cost += f" ({p99(quiet['send'])} outside faults)"
    if paid := [verdict.latency[name] for name in PAID_WORDS if name in verdict.latency]:
        hit, others = paid
        cost += f"; {p99(hit)} of producers that faults hit, {p99(others)} of others meanwhile"
    if never := send.get("without"):
        due = verdict.counts["sent"] + (verdict.counts.get("never_made") or 0)
        cost += f"; {never:,} of {due:,} sends never acknowledged"
    longest = f"at most {verdict.availability['longest_unavailable_ms']:,.0f} ms without an acknowledged send"
    silent = f"; {silence(verdict.availability)}" if verdict.availability.get("unheard_ms", 0) >= _SILENT_MS else ""
    yield from _wrapped([f"cost: {cost}; {longest}{silent}"], most=2)
    yield from _wrapped((f"{name}: {describe(bounded)}" for name, bounded in verdict.bounds.items()), most=1)


def _ending(verdict: Verdict, folder: Path) -> Iterator[str]:
    here = one_line(str(folder))
    yield f"  run folder: {here}{f' ({REPORT} is in it)' if (folder / REPORT).exists() else ''}"
    if verdict.verdict != VALID and (since := since_last_valid(folder, program())) is not None:
        yield from _wrapped([f"differs from {since.differs}"], most=2)
        yield f"  to compare: {one_line(since.command)}"
    details = one_line(shlex.join([program(), "check", "--details", str(folder)]))
    yield f"  in detail: {details}"
    if verdict.replayable:
        yield f"  to repeat it: {replay_command(folder)}"
