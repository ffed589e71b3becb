"""What joins the messages of a system's protocol."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from chaoskit.contract.wire import Pairing


def joined(decoder: Any, message: bytes, *, answers: bool) -> Hashable | None:
    """Return what joins a request with its response, if it is known; see `Pairing`."""
    assert isinstance(decoder, Pairing)
    header = decoder.response(message) if answers else decoder.request(message)
    assert header is not None
    return decoder.pair(header, message, answers=answers)
