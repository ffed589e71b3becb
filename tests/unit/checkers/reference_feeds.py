"""The definitions of anomalies of topics that keep nothing (docs/anomalies.md), in slow, plain Python.

Only for small histories (`story.Story`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from feed_story import F
from story import Story

from chaoskit.model.message import PRODUCER_SHIFT

Row = dict[str, Any]
Found = tuple[str, int, int]
"""Anomaly, value, and the operation of the send or the receive."""

ARRIVES_NS = 2 * 10**9
TOLD_NS = 10**9


class Stay(NamedTuple):
    who: str
    member: str
    shared: bool
    promise: str
    lasting: bool
    keeps: int | None
    from_ns: int
    back_ns: int
    until_ns: int
    exclusive: bool


def findings(story: Story) -> set[Found]:
    """Return what is to be found."""
    feed = Feed(story)
    return {*feed.gone(), *feed.repeated(), *feed.disordered(), *feed.late(), *feed.alarmed(), *feed.usurped()}


def _over(change: Row) -> tuple[float, int]:
    return (float("inf") if change["end_ns"] is None else change["end_ns"]), change["op"]


def _ended_before(send: Row, other: Row) -> bool:
    return send["end_ns"] is not None and send["end_ns"] < other["start_ns"]


class Feed:
    def __init__(self, story: Story) -> None:
        named = [{**row, "member": row["client"].partition("#")[0]} for row in story.operations]
        shared = {named[row["op"]]["member"]: row["name"] for row in story.observations if row["kind"] == "shared"}
        who = {
            row["member"]: f"{shared[row['member']]}/" if row["member"] in shared else row["member"] for row in named
        }
        self.operations = [{**row, "who": who[row["member"]], "shared": row["member"] in shared} for row in named]
        rows = [{**self.operations[row["op"]], **row} for row in story.messages if row["topic"] == F.partition("/")[0]]
        self.sends = [row for row in rows if row["direction"] == "sent"]
        self.all_receives = [row for row in rows if row["direction"] == "received"]
        self.receives = [row for row in self.all_receives if row["payload"] == "ok"]
        observations = [{**self.operations[row["op"]], **row} for row in story.observations]
        self.told = [row for row in observations if row["kind"] in ("subscribed", "unsubscribed")]
        self.parted = [row for row in observations if row["kind"] == "parted"]
        self.given = [row for row in observations if row["kind"] in ("replayed", "retained")]
        self.exclusive = {row["op"] for row in observations if row["kind"] == "exclusive"}
        self.limits = [row for row in observations if row["kind"] in ("liveliness", "deadline")]
        self.alarms = [row for row in observations if row["kind"] in ("parted", "not-alive", "deadline-missed")]
        self.stays = list(self._merged())

    def gone(self) -> Iterator[Found]:
        acked: dict[int, Row] = {}
        for row in self.sends:
            if row["outcome"] == "ok":
                acked.setdefault(row["value"], row)
        for value, send in acked.items():
            kinds = {kind for stay in self.stays if (kind := self._fate(send, stay))}
            if "lost" in kinds:
                kinds.discard("unseen")
            for kind in kinds:
                yield kind, value, send["op"]

    def _fate(self, send: Row, stay: Stay) -> str:
        if send["start_ns"] < stay.from_ns or (not stay.lasting and send["end_ns"] > stay.until_ns):
            return ""
        if stay.exclusive and send["member"] != self._owner():
            return ""
        if any(row["who"] == stay.who and row["value"] == send["value"] for row in self.receives):
            return ""
        away = self.out_of_reach(send, stay)
        if not away and self._must_have_arrived(send, stay):
            return "missed" if stay.promise == "at-most-once" or self._replaced(send, stay) else "lost"
        in_time = stay.shared and send["end_ns"] <= stay.until_ns - ARRIVES_NS
        return "unseen" if (away or stay.lasting or in_time) and stay.promise != "at-most-once" else ""

    def out_of_reach(self, send: Row, stay: Stay) -> bool:
        """Return whether the subscriber did not see the publisher, which went on publishing."""
        for row in self.parted:
            if row["member"] != stay.member or row["end_ns"] is None:
                continue
            if not stay.from_ns <= row["end_ns"] <= stay.until_ns:
                continue
            went_on = any(send["start_ns"] > row["end_ns"] for send in self.sends if send["client"] == row["name"])
            if went_on and send["client"] == row["name"] and send["start_ns"] >= row["start_ns"]:
                return True
        return False

    def _must_have_arrived(self, send: Row, stay: Stay) -> bool:
        until = [row for row in self.receives if row["who"] == stay.who and row["received_ns"] <= stay.until_ns]
        for row in until:
            same = row["value"] >> PRODUCER_SHIFT == send["value"] >> PRODUCER_SHIFT
            if row["received_ns"] >= stay.from_ns and same and row["value"] > send["value"] and not stay.shared:
                return True
        if stay.until_ns < max(send["end_ns"], stay.back_ns) + ARRIVES_NS:
            return False
        back = [row for row in until if row["received_ns"] >= stay.back_ns]
        if all(stay.until_ns - row["received_ns"] >= ARRIVES_NS for row in back):
            return True
        if stay.shared:
            return False
        begun = [min(s["op"] for s in self.sends if s["value"] == row["value"]) for row in back if self._sent(row)]
        return any(self.operations[op]["start_ns"] > send["end_ns"] for op in begun)

    def _replaced(self, send: Row, stay: Stay) -> bool:
        if stay.keeps is None:
            return False
        producer = send["value"] >> PRODUCER_SHIFT
        newer = [
            row
            for row in self.receives
            if row["who"] == stay.who
            and stay.from_ns <= row["received_ns"] <= stay.until_ns
            and row["value"] > send["value"]
            and row["value"] >> PRODUCER_SHIFT == producer
        ]
        until_ns = (
            min(newer, key=lambda row: (row["value"], row["received_ns"]))["received_ns"] if newer else stay.until_ns
        )
        own = {row["value"] for row in self.sends if row["value"] >> PRODUCER_SHIFT == producer}
        begun = {value: min(row["op"] for row in self.sends if row["value"] == value) for value in own}
        followed = [v for v, op in begun.items() if v > send["value"] and self._begun_until(v, begun) < until_ns]
        return len(followed) >= stay.keeps

    def _begun_until(self, value: int, begun: dict[int, int]) -> int:
        """Return when a message and those before it of its producer had begun to be sent."""
        return max(int(self.operations[op]["start_ns"]) for first, op in begun.items() if first <= value)

    def _sent(self, receive: Row) -> bool:
        return any(row["value"] == receive["value"] for row in self.sends)

    def late(self) -> Iterator[Found]:
        for given in self.given:
            own = [row for row in self.told if row["client"] == given["client"] and row["kind"] == "subscribed"]
            if given["end_ns"] is None or min(own, key=_over)["op"] != given["op"]:
                continue
            until_ns = self._until_ns(given)
            if until_ns >= given["end_ns"] + ARRIVES_NS:
                yield from self._not_given(given)
            if given["kind"] == "retained":
                yield from self._given_late(given, until_ns)

    def _not_given(self, given: Row) -> Iterator[Found]:
        got = {row["value"] for row in self.receives if row["who"] == given["who"]}
        before = [row for row in self.sends if row["start_ns"] <= given["end_ns"]]
        for send in self._acked_before(given):
            of_topic = given["kind"] == "retained"
            after = [row for row in before if row["op"] != send["op"] and not _ended_before(row, send)]
            own = {row["value"] for row in before if row["value"] >> PRODUCER_SHIFT == send["value"] >> PRODUCER_SHIFT}
            newer = len(after) if of_topic else len([value for value in own if value > send["value"]])
            if newer < given["value"] and send["value"] not in got:
                yield "late-joiner-lost", send["value"], send["op"]

    def _given_late(self, given: Row, until_ns: int) -> Iterator[Found]:
        acked = self._acked_before(given)
        for row in self.receives:
            if row["who"] != given["who"] or not given["start_ns"] <= row["received_ns"] <= until_ns:
                continue
            sends = [send for send in self.sends if send["value"] == row["value"]]
            first = min(sends, key=lambda send: send["op"], default=None)
            if first is None or first["end_ns"] is None or first["end_ns"] > given["start_ns"]:
                continue
            if any(first["end_ns"] < send["start_ns"] for send in acked):
                yield "stale", row["value"], row["op"]

    def _acked_before(self, given: Row) -> list[Row]:
        return [
            row for row in self.sends if row["outcome"] == "ok" and row["end_ns"] and row["end_ns"] <= given["start_ns"]
        ]

    def alarmed(self) -> Iterator[Found]:
        for limit in self.limits:
            if limit["end_ns"] is None:
                continue
            until_ns = self._until_ns(limit)
            own = [row for row in self.alarms if row["client"] == limit["client"] and row["end_ns"] is not None]
            own = [row for row in own if limit["end_ns"] <= row["end_ns"]]
            alarms = [row for row in own if row["end_ns"] <= until_ns]
            if limit["kind"] == "liveliness":
                later = [
                    row["end_ns"]
                    for row in self.told
                    if row["kind"] == "subscribed" and row["client"] == limit["client"] and row["end_ns"] is not None
                ]
                next_ns = min((ns for ns in later if ns > limit["end_ns"]), default=float("inf"))
                yield from self._ends_unnoticed(limit, until_ns, [row for row in alarms if row["name"]])
                yield from self._alive(limit, [row for row in own if row["name"] and row["end_ns"] < next_ns])
            else:
                got = [row for row in self.all_receives if row["member"] == limit["member"]]
                got = [row for row in got if limit["end_ns"] <= row["received_ns"] <= until_ns]
                times = [(self.sent_ns(row), row) for row in sorted(got, key=lambda row: row["received_ns"])]
                silent = [row for row in alarms if not row["name"]]
                yield from self._pauses_unnoticed(limit, until_ns, times, silent)
                yield from self._in_time(times, silent, limit["value"])

    def usurped(self) -> Iterator[Found]:
        owner = self._owner()
        for row in self.told:
            if row["op"] not in self.exclusive or row["kind"] != "subscribed" or row["end_ns"] is None:
                continue
            within = min(limit["value"] for limit in self.limits if limit["op"] == row["op"])
            taken = self._received_in(row, self._until_ns(row))
            for other in taken:
                sent_ns = self.sent_ns(other)
                if sent_ns is None or self._publisher(other) == owner:
                    continue
                own = [receive for receive in taken if self._publisher(receive) == owner]
                before = [
                    receive for receive in own if receive["received_ns"] < sent_ns and self.sent_ns(receive) is not None
                ]
                if before:
                    last = max(enumerate(before), key=lambda numbered: (numbered[1]["received_ns"], numbered[0]))[1]
                    process = [send["start_ns"] for send in self.sends if send["client"] == self._sender(last)]
                    alive_ns = min((self.sent_ns(last) or 0) + within, max(process))
                    if other["received_ns"] <= alive_ns:
                        yield "not-owner", other["value"], other["op"]

    def _owner(self) -> str | None:
        first = min(self.sends, key=lambda row: (row["value"], row["op"]), default=None)
        return None if first is None else first["member"]

    def _publisher(self, receive: Row) -> str | None:
        sender = self._sender(receive)
        return sender and sender.partition("#")[0]

    def _ends_unnoticed(self, limit: Row, until_ns: int, alarms: list[Row]) -> Iterator[Found]:
        for client, since_ns, over_ns in self._ends():
            last = max((row for row in self.sends if row["client"] == client), key=lambda row: row["start_ns"])
            due_ns = over_ns + limit["value"] + TOLD_NS
            heard = any(self._sender(row) == client for row in self._received_in(limit, until_ns))
            if not heard or since_ns < limit["end_ns"] or due_ns > until_ns or since_ns > over_ns:
                continue
            noticed = any(row["name"] == client and since_ns <= row["end_ns"] <= due_ns for row in alarms)
            if not noticed and self._asked(limit["client"], since_ns, due_ns):
                yield "unnoticed", last["value"], last["op"]

    def _ends(self) -> Iterator[tuple[str, int, int]]:
        """Publishers that were followed by another incarnation: client, end of its last operation, and when the other
        one began to publish."""
        began: dict[str, int] = {}
        for row in self.sends:
            began.setdefault(row["client"], row["start_ns"])
        for client, start_ns in began.items():
            same = [ns for other, ns in began.items() if other.partition("#")[0] == client.partition("#")[0]]
            later = [ns for ns in same if ns > start_ns]
            if later:
                own = [row for row in self.operations if row["client"] == client]
                yield client, max(max(row["start_ns"], row["end_ns"] or 0) for row in own), min(later)

    def _alive(self, limit: Row, alarms: list[Row]) -> Iterator[Found]:
        within_ns = limit["value"]
        for alarm in alarms:
            began_ns, gap_ns = alarm["end_ns"] - within_ns - TOLD_NS, min(TOLD_NS, within_ns) // 2
            if not self._asked(limit["client"], began_ns, alarm["end_ns"], gap_ns):
                continue
            starts = [(row["start_ns"], row["value"]) for row in self.sends if row["client"] == alarm["name"]]
            before = [ns for ns, _ in starts if ns <= began_ns]
            after = [start for start in starts if start[0] > alarm["end_ns"]]
            if before and after:
                between = sorted(ns for ns, _ in starts if max(before) <= ns <= min(after)[0])
                if all(later - earlier < within_ns for earlier, later in pairwise(between)):
                    yield "false-alarm", min(after)[1], alarm["op"]

    def _pauses_unnoticed(
        self, limit: Row, until_ns: int, times: list[tuple[int | None, Row]], alarms: list[Row]
    ) -> Iterator[Found]:
        for index, (sent_ns, row) in enumerate(times):
            later = [ns for ns, _ in times[index + 1 :]]
            if sent_ns is None or None in later:
                continue
            at_ns, end_ns = row["received_ns"], min([until_ns, *(ns for ns in later if ns is not None)])
            due_ns = at_ns + limit["value"] + TOLD_NS
            if end_ns < due_ns or due_ns > until_ns:
                continue
            clients = {send["client"] for send in self.sends}
            spans = [[e["start_ns"] for e in self.sends if e["client"] == client] for client in clients]
            present = any(min(span) <= at_ns and max(span) >= due_ns for span in spans)
            noticed = any(sent_ns <= alarm["end_ns"] <= due_ns for alarm in alarms)
            if present and not noticed and self._asked(limit["client"], at_ns, due_ns):
                yield "unnoticed", row["value"], row["op"]

    def _in_time(self, times: list[tuple[int | None, Row]], alarms: list[Row], within_ns: int) -> Iterator[Found]:
        for alarm in alarms:
            at_ns = alarm["end_ns"]
            before = [i for i, (_, row) in enumerate(times) if row["received_ns"] <= at_ns - TOLD_NS]
            after = [i for i, (_, row) in enumerate(times) if row["received_ns"] >= at_ns]
            if before and after:
                pairs = pairwise(times[max(before) : min(after) + 1])
                if all(ns is not None and later["received_ns"] - ns <= within_ns for (ns, _), (_, later) in pairs):
                    yield "false-alarm", times[min(after) - 1][1]["value"], alarm["op"]

    def _asked(self, client: str, since_ns: int, until_ns: int, gap_ns: int = TOLD_NS) -> bool:
        own = [row["start_ns"] for row in self.operations if row["client"] == client]
        asked = sorted([since_ns, until_ns, *(ns for ns in own if since_ns < ns < until_ns)])
        return all(later - earlier <= gap_ns for earlier, later in pairwise(asked))

    def _received_in(self, limit: Row, until_ns: int) -> list[Row]:
        own = [row for row in self.receives if row["who"] == limit["who"]]
        return [row for row in own if limit["end_ns"] <= row["received_ns"] <= until_ns]

    def _sender(self, receive: Row) -> str | None:
        sends = [row for row in self.sends if row["value"] == receive["value"]]
        return min(sends, key=lambda row: row["op"])["client"] if sends else None

    def sent_ns(self, receive: Row) -> int | None:
        sends = [row for row in self.sends if row["value"] == receive["value"] and receive["payload"] == "ok"]
        return int(min(sends, key=lambda row: row["op"])["start_ns"]) if sends else None

    def repeated(self) -> Iterator[Found]:
        for row, earlier in self._with_earlier():
            promises = [stay.promise for stay in self.stays if stay.who == row["who"]]
            if any(other["value"] == row["value"] for other in earlier) and promises:
                yield ("redelivered" if promises[-1] == "at-least-once" else "duplicate"), row["value"], row["op"]

    def _with_earlier(self) -> Iterator[tuple[Row, list[Row]]]:
        for index, row in enumerate(self.receives):
            yield row, [receive for receive in self.receives[:index] if receive["who"] == row["who"]]

    def disordered(self) -> Iterator[Found]:
        first = [row for row, earlier in self._with_earlier() if all(e["value"] != row["value"] for e in earlier)]
        for index, row in enumerate(first):
            before = [other["value"] for other in first[:index] if other["client"] == row["client"]]
            producer = row["value"] >> PRODUCER_SHIFT
            if any(value >> PRODUCER_SHIFT == producer and value > row["value"] for value in before):
                yield "fifo-violation", row["value"], row["op"]

    def _merged(self) -> Iterator[Stay]:
        single = sorted(self.single(), key=lambda stay: stay.from_ns)
        yield from (stay for stay in single if not stay.lasting)
        for who in dict.fromkeys(stay.who for stay in single if stay.lasting):
            own = [stay for stay in single if stay.who == who]
            last = list({stay.member: stay for stay in own}.values())
            until_ns, back_ns = min(stay.until_ns for stay in last), max(stay.back_ns for stay in last)
            yield own[-1]._replace(from_ns=own[0].from_ns, back_ns=back_ns, until_ns=until_ns)

    def single(self) -> Iterator[Stay]:
        for row in self.told:
            if row["kind"] != "subscribed" or row["end_ns"] is None:
                continue
            until_ns = self._until_ns(row)
            kept = row["value"] == 1, row["position"]
            yield Stay(
                row["who"],
                row["member"],
                row["shared"],
                row["name"],
                *kept,
                row["end_ns"],
                row["end_ns"],
                until_ns,
                row["op"] in self.exclusive,
            )

    def _until_ns(self, row: Row) -> int:
        later = [
            observation
            for observation in self.told
            if observation["client"] == row["client"] and _over(observation) > _over(row)
        ]
        later.sort(key=_over)
        own = [operation for operation in self.operations if operation["client"] == row["client"]]
        last_ns: int = max(max(operation["start_ns"], operation["end_ns"] or 0) for operation in own)
        return int(later[0]["start_ns"]) if later else last_ns
