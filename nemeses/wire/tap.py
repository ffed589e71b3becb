"""A tap: a transparent proxy on a host, for the connections that others make to the system there.

A stand-alone program that runs on the host; its argument is JSON with `decoders` (`module:class` by port), `port` (its
own) and `control` (path of a Unix socket). Connections come by TPROXY; it goes on as the client's address with a
port of its own. On the Unix socket it answers each line of JSON with one: `{"add": name, "rule": {...}}`,
`{"end": name}`, `{"report": name}`, `{}`. One loop does everything; what waits has a time or a request that ends it.
"""

from __future__ import annotations

import heapq
import importlib
import itertools
import json
import random
import resource
import select
import socket
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from chaoskit.contract.systems.wire import Decoder
from nemeses.wire import rules
from nemeses.wire.carried import Asked
from nemeses.wire.channel import Channel
from nemeses.wire.flow import Flow, Gate
from nemeses.wire.rules import TapRules

MARK = 0x57
"""Mark of the packets that a tap sends to the system; answers to them go back to the tap."""

_IP_TRANSPARENT = 19
_PORTS = range(10_000, 32_000)
"""Ports as which it goes on: below those that clients get (32768 and above, ip(7)), since both must differ."""

_PORTS_TRIED = 100
_BACKLOG = 1024
_END_NS = 1_000_000_000
"""How long an orderly end may take at both ends."""


class Tap:
    """Accepts connections and serves them all.

    Args:
        decoders: by the port that is called, what makes the decoder of one connection.
        port: where TPROXY delivers connections.
        control: path of the Unix socket.
    """

    def __init__(self, decoders: Mapping[int, Callable[[], Decoder]], port: int, control: Path) -> None:
        self._decoders = decoders
        self._rules = TapRules()
        self._poll = select.epoll()
        self._channels: dict[int, Channel] = {}
        self._of_flow: dict[Flow, Channel] = {}
        self._gates: dict[Gate, Flow] = {}
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._messages = 0
        self._unread = 0
        start = random.randrange(len(_PORTS))  # noqa: S311  # taps that follow each other should not meet old connections
        self._ports = itertools.cycle([*_PORTS[start:], *_PORTS[:start]])
        self._listener = _transparent()
        self._listener.bind(("0.0.0.0", port))  # noqa: S104  # TPROXY keeps the address that was called
        self._control = socket.socket(socket.AF_UNIX)
        control.unlink(missing_ok=True)
        self._control.bind(str(control))
        for listener in (self._listener, self._control):
            listener.listen(_BACKLOG)
            listener.setblocking(False)
            self._poll.register(listener, select.EPOLLIN)

    def serve(self) -> None:
        """Serve until the process is killed."""
        listener, control = self._listener.fileno(), self._control.fileno()
        while True:
            happened = self._poll.poll(self._let_go())
            for number, events in happened:
                if number == control:
                    self._answer()
                elif (channel := self._channels.get(number)) is not None:
                    channel.ready(number, events)
                    self._forget_closed(channel)
            # Last: a new connection may get the number of one that was just closed.
            if any(number == listener for number, _ in happened):
                self._accept()

    def _let_go(self) -> float:
        """Do what is due; return the time until the next, in seconds, or -1."""
        while self._timers and self._timers[0][0] <= time.monotonic_ns():
            heapq.heappop(self._timers)[2]()
        return max(0.0, (self._timers[0][0] - time.monotonic_ns()) / 1e9) if self._timers else -1

    def _later(self, delay_ns: int, act: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic_ns() + delay_ns, next(self._number), act))

    def _accept(self) -> None:
        try:
            client, (address, _) = self._listener.accept()
        except OSError:
            return  # the client has left already
        called = client.getsockname()
        server = self._call(address, called)
        if server is None:
            client.close()
            return
        decoder, asked = self._decoders[called[1]](), Asked()
        request = Flow(rules.REQUEST, decoder, asked, self._rules, gated=self._gate, seen=self._see)
        response = Flow(rules.RESPONSE, decoder, asked, self._rules, gated=self._gate, seen=self._see)
        channel = Channel(self._poll, (client, server), (request, response), finishing=self._finish)
        self._of_flow |= {request: channel, response: channel}
        self._channels |= dict.fromkeys(channel.numbers, channel)

    def _call(self, address: str, called: tuple[str, int]) -> socket.socket | None:
        """Begin to connect with the system as a client's address; return None if that is not possible."""
        for port in itertools.islice(self._ports, _PORTS_TRIED):
            server = _transparent()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
            server.setblocking(False)
            try:
                server.bind((address, port))
                server.connect(called)
            except BlockingIOError:
                return server
            except OSError:
                server.close()
            else:
                return server
        return None

    def _gate(self, flow: Flow, gate: Gate) -> None:
        self._gates[gate] = flow
        if gate.delay_ns is not None:
            self._later(gate.delay_ns, partial(self._open, gate))

    def _open(self, gate: Gate) -> None:
        flow = self._gates.pop(gate, None)
        if flow is not None and (channel := self._of_flow.get(flow)) is not None:
            gate.open = True
            channel.send(flow)
            self._forget_closed(channel)

    def _see(self, message: str) -> None:
        for gate in [gate for gate in self._gates if gate.until == message]:
            self._later(0, partial(self._open, gate))

    def _finish(self, channel: Channel) -> None:
        self._later(_END_NS, partial(self._close, channel))

    def _close(self, channel: Channel) -> None:
        channel.close()
        self._forget_closed(channel)

    def _forget_closed(self, channel: Channel) -> None:
        if not channel.closed or channel.request not in self._of_flow:
            return
        self._messages += channel.messages
        self._unread += channel.opaque
        for number in channel.numbers:
            if self._channels.get(number) is channel:
                del self._channels[number]
        for flow in (channel.request, channel.response):
            del self._of_flow[flow]
        for gate in [gate for gate, flow in self._gates.items() if flow in {channel.request, channel.response}]:
            del self._gates[gate]

    def _answer(self) -> None:
        """Answer the requests of one caller of the Unix socket, who has sent them all."""
        caller, _ = self._control.accept()
        with caller:
            caller.settimeout(1)
            try:
                lines = caller.makefile("rb").read().splitlines()
                caller.sendall(b"".join(json.dumps(self._done(json.loads(line))).encode() + b"\n" for line in lines))
            except (OSError, ValueError, TypeError) as error:
                print(f"a request was not answered: {error!r}", file=sys.stderr, flush=True)  # noqa: T201

    def _done(self, asked: dict[str, Any]) -> Any:
        if "add" in asked:
            self._rules.add(asked["add"], asked["rule"])
        if "end" in asked:
            self._rules.end(asked["end"])
            for gate in [gate for gate in self._gates if gate.rule == asked["end"]]:
                self._open(gate)
        name = asked.get("add") or asked.get("end") or asked.get("report")
        return {**self._state(), "rule": self._rules.report(name) if name else None}

    def _state(self) -> dict[str, Any]:
        channels = {id(channel): channel for channel in self._channels.values()}.values()
        return {
            "connections": len(channels),
            "messages": self._messages + sum(channel.messages for channel in channels),
            "unread": self._unread + sum(channel.opaque for channel in channels),
            "held": len(self._gates),
            "rules": list(self._rules.active),
        }


def _transparent() -> socket.socket:
    """Return a TCP socket that may have addresses of others."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_IP, _IP_TRANSPARENT, 1)
    return made


def main(argument: str) -> None:
    """Serve as the argument says."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asked = json.loads(argument)
    decoders = {int(port): _made(decoder) for port, decoder in asked["decoders"].items()}
    Tap(decoders, asked["port"], Path(asked["control"])).serve()


def _made(decoder: str) -> Callable[[], Decoder]:
    module, _, name = decoder.partition(":")
    factory: Callable[[], Decoder] = getattr(importlib.import_module(module), name)
    return factory
