"""One direction of a connection: its bytes, cut into messages, with what the rules do to some of them.

A stand-alone module: a tap loads it on a host. While no rule is in effect, only the lengths of messages are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from chaoskit.contract.wire import Decoder, Header, Refusing
from nemeses.wire import rules
from nemeses.wire.rules import Rule, Rules


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
    """What happens to the message that comes next; none of its bytes was passed yet."""

    header: Header | None
    chosen: tuple[str, Rule] | None


class Flow:
    """One direction of a connection.

    Args:
        of: `request` or `response`.
        decoder: the connection's decoder.
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
        rules: Rules,
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
        self._rules = rules
        self._gated = gated
        self._seen = seen
        self._rest = b""
        self._left = 0
        self._dropping = False
        self._fate: _Fate | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes, and queue what is to be passed."""
        if self.ends:
            return
        buffer = self._rest + data if self._rest else data
        self._rest = b""
        at = min(self._left, len(buffer))
        self._left -= at
        begin = at if self._dropping else 0
        if self._left or self.opaque:
            self._pass(buffer[begin:])
        else:
            self._cut(buffer, begin, at)

    def end(self) -> None:
        """Queue what was held back of a message that will never be whole."""
        self._pass(self._rest)
        self._rest = b""

    def clear(self) -> None:
        """Pass nothing of what is queued."""
        self.out.clear()
        self.queued = 0

    def _cut(self, buffer: bytes, begin: int, at: int) -> None:
        """Cut into messages what is from `at` on; what is from `begin` on is to be passed."""
        size = len(buffer)
        while at < size:
            length = self._length(buffer[at : at + self._decoder.head])
            if self.opaque:
                at = size
                break
            fate = self._decide(buffer, at, length) if length and self._rules.looking else _PASS
            if not length or fate is None:
                break
            self._fate = None
            self.messages += 1
            if fate.chosen is not None:
                self._pass(buffer[begin:at])
                begin = self._act(fate, buffer, at, length)
                if self.ends:
                    return
            at += length
        self._left = max(0, at - size)
        self._dropping = self._left > 0 and begin == at
        self._pass(buffer[begin:at])
        self._rest = buffer[at:]

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
        chosen = self._fate.chosen
        if chosen and chosen[0] not in self._rules.active:
            return _PASS  # the rule has ended before the message was whole
        return None if chosen and chosen[1].then in rules.WHOLE and here < length else self._fate

    def _look(self, head: bytes) -> _Fate:
        header = self._decoder.request(head) if self._of == rules.REQUEST else self._decoder.response(head)
        if header is None:
            return _PASS
        if self._of == rules.REQUEST:
            self._seen(header.message)
        return _Fate(header, self._rules.chosen(self._of, header))

    def _act(self, fate: _Fate, buffer: bytes, at: int, length: int) -> int:
        """Do what a rule says about the message at `at`; return from where on the bytes are to be passed."""
        assert fate.chosen is not None
        assert fate.header is not None
        name, rule = fate.chosen
        if rule.then in {rules.DELAY, rules.HOLD_UNTIL}:
            self._hold(name, rule)
            return at
        if rule.then in {rules.DROP_AND_CLOSE, rules.CLOSE_BEFORE}:
            self.ends = "orderly" if rule.then == rules.DROP_AND_CLOSE else "reset"
        elif rule.then == rules.ERROR:
            self._refuse(fate.header, fate.chosen, buffer[at : at + length])
        elif rule.then != rules.DROP:
            self._replace(rule, buffer[at : at + length])
        return at + length

    def _refuse(self, header: Header, chosen: tuple[str, Rule], whole: bytes) -> None:
        """Pass an error instead of a response; pass it unchanged, if it is not as expected."""
        name, rule = chosen
        assert isinstance(self._decoder, Refusing)
        try:
            whole = self._decoder.refused(header, whole, rule.argument)
        except ValueError:
            self._rules.undone(name)
        self._pass(whole)

    def _replace(self, rule: Rule, whole: bytes) -> None:
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

    def _hold(self, name: str, rule: Rule) -> None:
        delays = rule.then == rules.DELAY
        gate = Gate(name, rule.argument) if delays else Gate(name, until=rule.argument)
        self.out.append(gate)
        self._gated(self, gate)

    def _pass(self, data: bytes) -> None:
        if data:
            self.out.append(data)
            self.queued += len(data)


_PASS = _Fate(None, None)
