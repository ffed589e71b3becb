"""Conformance suite for decoders of a protocol on the wire."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence

from chaoskit.contract.systems import wire as contract
from chaoskit.contract.systems.wire import Decoder, Header, Refusing, Wire
from chaoskit.testing.conformance.wants import Wants


def check_decoder(
    wire: Wire, requests: Sequence[bytes], responses: Sequence[bytes], *, port: int | None = None
) -> None:
    """Check a decoder with the messages of a recorded session.

    Args:
        wire: the protocols of the system.
        requests: all requests of one connection, each in one piece.
        responses: the responses to all of them, in order; or what else the system sent, if that has names of its own.
        port: the port of the decoder, if there are several.

    Raises:
        AssertionError: lists what is missing.
    """
    if not wire.decoders:
        raise AssertionError("the protocol has no decoders")
    path = wire.decoders[next(iter(wire.decoders)) if port is None else port]
    name, _, made = path.partition(":")
    with Wants(f"decoder {path}") as wants:
        module = importlib.import_module(name)
        wants.record(wire, "the protocol")
        wants.that(set(wire.refusable) <= {*_answers(wire)}, "`refusable` has names that no response has")
        foreign = _imports(inspect.getsource(module)) - {contract.__name__}
        wants.that(not foreign, f"a tap cannot load what its module imports: {', '.join(sorted(foreign))}")
        make: Callable[[], Decoder] = getattr(module, made)
        wants.that(isinstance(make(), Refusing) or not wire.refusable, "it refuses nothing, but `refusable` has names")
        with wants.step("lengths"):
            for message in (*requests, *responses):
                _check_length(make(), message, wants)
        with wants.step("headers"):
            decoder = make()
            asked = [_header(decoder, decoder.request, request) for request in requests]
            answered = [_header(decoder, decoder.response, response) for response in responses]
            _check_headers(wire, asked, answered, wants)
            _check_refused(wire, decoder, zip(answered, responses, strict=True), wants)


def _answers(wire: Wire) -> Sequence[str]:
    return wire.answers or wire.messages


def _imports(source: str) -> set[str]:
    """Return the modules that are imported, without those of the standard library."""
    nodes = list(ast.walk(ast.parse(source)))
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}


def _check_length(decoder: Decoder, message: bytes, wants: Wants) -> None:
    """Check that every begin of a message gives its length, or none."""
    lengths = [decoder.length(message[:size]) for size in range(len(message) + 1)]
    wants.that(lengths[-1] == len(message), f"a message of {len(message)} bytes has the length {lengths[-1]}")
    wants.that({*lengths} <= {None, len(message)}, "the length of a message depends on how many of its bytes are there")
    wants.that(
        lengths[min(decoder.head, len(message))] is not None,
        f"{decoder.head} bytes (`head`) do not tell a message's length",
    )


def _header(decoder: Decoder, read: Callable[[bytes], Header | None], message: bytes) -> Header | None:
    """Return the header of the next message of the connection, as a tap reads it."""
    decoder.length(message)
    return read(message[: decoder.head])


def _check_refused(wire: Wire, decoder: Decoder, answered: Iterable[tuple[Header | None, bytes]], wants: Wants) -> None:
    """Check that each response that can be made an error is then another one, and a whole message."""
    for header, response in answered:
        if header is None or not isinstance(decoder, Refusing):
            continue
        for error in wire.refusable.get(header.message, ()):
            with wants.step(f"{header.message} with the error {error}"):
                changed = decoder.refused(header, response, error)
                wants.that(changed != response, f"{header.message} stays as it is with the error {error}")
                whole = decoder.length(changed) == len(changed)
                wants.that(whole, f"{header.message} with the error {error} is not whole")


def _check_headers(wire: Wire, asked: Sequence[Header | None], answered: Sequence[Header | None], wants: Wants) -> None:
    """Check that requests have known names, and responses the headers of their requests."""
    known: list[Header] = [header for header in asked if header is not None]
    unknown = sorted({header.message for header in known} - {*wire.messages})
    wants.that(not unknown, f"requests have names that are not in `messages`: {', '.join(unknown)}")
    if wire.answers:
        unknown = sorted({header.message for header in answered if header is not None} - {*wire.answers})
        wants.that(not unknown, f"responses have names that are not in `answers`: {', '.join(unknown)}")
    else:
        wants.that(answered == asked, "responses do not have the headers of their requests")
