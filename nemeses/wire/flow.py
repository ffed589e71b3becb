"""One direction of a connection: its bytes, cut into messages, with what the rules do to some of them.

A stand-alone module: a tap loads it on a host. While no rule is in effect, only the lengths of messages are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from chaoskit.contract.systems.wire import Decoder, Header, Pairing, Refusing
from nemeses.wire import rules
from nemeses.wire.carried import Asked, carried
from nemeses.wire.rules import Hit, TapRule, TapRules


@dataclass(slots=True, eq=False)
class Gate:
    """What holds back the bytes behind it in a flow.

    Attributes:
        rule: name of the rule.
        delay_ns: it opens after this time.
        until: it opens when this request is seen; empty: it does not wait for one.
        open: whether it is open.
    """

    rule: str
    delay_ns: int | None = None
    until: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class _Fate:
    """What happens to the message that comes next; none of its bytes was passed yet.

    Attributes:
        header: its header, if it is known.
        hit: what is done with it, if anything.
        pair: what joins it with its response, if something may be done with that.
    """

    header: Header | None = None
    hit: Hit | None = None
    pair: Hashable | None = None

    @property
    def whole(self) -> bool:
        """Whether all of the message is needed at once."""
        return self.pair is not None or self.hit is not None


class Flow:
    """One direction of a connection.

    Args:
        of: `request` or `response`.
        decoder: the connection's decoder.
        asked: what the connection's requests carried.
        rules: the tap's rules.
        gated: called with each gate that was put into the flow.
        seen: called with the name of each request that is looked at.

    Attributes:
        out: bytes to be sent, and gates.
        queued: number of bytes in `out`.
        messages: number of messages so far.
        ends: how the connection ends once `out` is sent, if a rule says so: `orderly`, or at once: `reset`.
        opaque: whether the bytes are no messages that the decoder knows, so that all pass.
    """

    def __init__(
        self,
        of: str,
        decoder: Decoder,
        asked: Asked,
        rules: TapRules,
        *,
        gated: Callable[[Flow, Gate], None],
        seen: Callable[[str], None],
    ) -> None:
        self.out: deque[bytes | Gate] = deque()
        self.queued = 0
        self.messages = 0
        self.ends = ""
        self.opaque = False
        self._of = of
        self._decoder = decoder
        self._pairing = decoder if isinstance(decoder, Pairing) else None
        self._asked = asked
        self._rules = rules
        self._gated = gated
        self._seen = seen
        self._rest: list[bytes] = []
        self._missing = 0
        self._left = 0
        self._fate: _Fate | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes, and queue what is to be passed."""
        if self.ends:
            return
        self._missing -= len(data)
        if self._missing > 0:
            self._rest.append(data)
            return
        buffer = b"".join([*self._rest, data]) if self._rest else data
        self._rest = []
        at = min(self._left, len(buffer))
        self._left -= at
        if self._left or self.opaque:
            self._pass(buffer)
        else:
            self._cut(buffer, at)

    def end(self) -> None:
        """Queue what was held back of a message that will never be whole."""
        self.spare()
        self._pass(b"".join(self._rest))
        self._rest = []

    def spare(self) -> None:
        """Do nothing with a message that is not whole yet."""
        if self._fate is not None and self._fate.hit is not None:
            self._fate.hit.matching.spare()
        self._fate = None

    def clear(self) -> None:
        """Pass nothing of what is queued."""
        self.out.clear()
        self.queued = 0

    def _cut(self, buffer: bytes, at: int) -> None:
        """Cut into messages what is from `at` on; what is before it is to be passed."""
        begin, size = 0, len(buffer)
        self._missing = 0
        while at < size:
            length = self._length(buffer[at : at + self._decoder.head])
            if self.opaque:
                at = size
                break
            fate = self._decide(buffer, at, length) if length and self._is_looking() else _PASS
            if not length or fate is None:
                break
            self._fate = None
            self.messages += 1
            if fate.pair is not None:
                self._asked.put(fate.pair, buffer[at : at + length])
            if fate.hit is not None:
                self._pass(buffer[begin:at])
                begin = self._act(fate, buffer, at, length)
                if self.ends:
                    return
            at += length
        self._left = max(0, at - size)
        self._pass(buffer[begin:at])
        if at < size:
            self._rest = [buffer[at:]]

    def _is_looking(self) -> bool:
        return self._rules.looking or self._fate is not None

    def _length(self, begin: bytes) -> int | None:
        try:
            return self._decoder.length(begin)
        except ValueError:
            self.opaque = True
            return None

    def _decide(self, buffer: bytes, at: int, length: int) -> _Fate | None:
        """Return what happens to the message at `at`; None if more bytes are needed."""
        here = len(buffer) - at
        if self._fate is None:
            if here < min(length, self._decoder.head):
                return None
            self._fate = self._look(buffer[at : at + min(length, self._decoder.head)])
        hit = self._fate.hit
        if hit is not None and hit.matching.name not in self._rules.active:
            self.spare()
            return _PASS  # the rule has ended before the message was whole
        if self._fate.whole and here < length:
            self._missing = length - here
            return None
        return self._fate

    def _look(self, head: bytes) -> _Fate:
        header = self._decoder.request(head) if self._of == rules.REQUEST else self._decoder.response(head)
        if header is None:
            return _PASS
        hit = self._rules.chosen(self._of, header)
        if self._of == rules.REQUEST:
            self._seen(header.message)
            return _Fate(header, hit, self._pair(header, head))
        carried = self._asked.take(self._pair(header, head))
        if hit is not None:
            hit.carried = carried
        return _Fate(header, hit)

    def _pair(self, header: Header, head: bytes) -> Hashable | None:
        """Return what joins a request and its response, if something may be done with responses."""
        if self._pairing is None or not self._rules.answering:
            return None
        return self._pairing.pair(header, head, answers=self._of == rules.RESPONSE)

    def _act(self, fate: _Fate, buffer: bytes, at: int, length: int) -> int:
        """Do what a rule says about the message at `at`; return from where on the bytes are to be passed."""
        hit, header = fate.hit, fate.header
        assert hit is not None
        assert header is not None
        rule, whole = hit.matching.rule, buffer[at : at + length]
        hit.carried = hit.carried or carried(whole)
        if rule.then == rules.ERROR:
            self._refuse(header, hit, whole)
            return at + length
        hit.matching.do(hit)
        if rule.then in {rules.DELAY, rules.HOLD_UNTIL}:
            self._hold(hit)
            return at
        if rule.then in {rules.DROP_AND_CLOSE, rules.CLOSE_BEFORE}:
            self.ends = "orderly" if rule.then == rules.DROP_AND_CLOSE else "reset"
        elif rule.then != rules.DROP:
            self._replace(rule, whole)
        return at + length

    def _refuse(self, header: Header, hit: Hit, whole: bytes) -> None:
        """Pass an error instead of a response; pass it unchanged, if it is not as expected."""
        assert isinstance(self._decoder, Refusing)
        try:
            whole = self._decoder.refused(header, whole, hit.matching.rule.argument)
        except ValueError:
            hit.matching.spare()
        else:
            hit.matching.do(hit)
        self._pass(whole)

    def _replace(self, rule: TapRule, whole: bytes) -> None:
        """Pass something else instead of a message, or end the connection behind it."""
        if rule.then == rules.DUPLICATE:
            whole += whole
        elif rule.then == rules.GARBLE:
            middle = (min(len(whole), self._decoder.head) + len(whole)) // 2
            whole = whole[: middle - 1] + bytes([whole[middle - 1] ^ 0xFF]) + whole[middle:]
        else:
            self.ends = "orderly"
            whole = whole[: len(whole) // 2] if rule.then == rules.TRUNCATE else whole
        self._pass(whole)

    def _hold(self, hit: Hit) -> None:
        name, rule = hit.matching.name, hit.matching.rule
        gate = Gate(name, rule.argument) if rule.then == rules.DELAY else Gate(name, until=rule.argument)
        self.out.append(gate)
        self._gated(self, gate)

    def _pass(self, data: bytes) -> None:
        if data:
            self.out.append(data)
            self.queued += len(data)


_PASS = _Fate()
