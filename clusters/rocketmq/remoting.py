"""Requests to one server of RocketMQ in its remoting protocol.

Layout: `org.apache.rocketmq.remoting.protocol.RemotingCommand` of RocketMQ 5.5: the length of the header with the type
of its serialisation in the highest byte, the header as JSON, and a body.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaoskit.contract.systems.service import ServiceError
from clusters.common.framing import ask as ask_framed

OK = 0
_VERSION = 453
"""The number of a release in the protocol (`MQVersion`): that of 5.1.0, from which on nothing is asked otherwise."""

_LENGTH = 0xFFFFFF
_NUMBER_AS_KEY = re.compile(rb"([{,])(-?\d+):")
"""What fastjson writes for a map with numbers as keys, which is no JSON."""


class RocketRefused(ServiceError):
    """A server answered with an error.

    Attributes:
        code: see `org.apache.rocketmq.remoting.protocol.ResponseCode`.
        fields: the header's own fields.
    """

    def __init__(self, code: int, remark: str, fields: Mapping[str, str]) -> None:
        super().__init__(f"code {code}: {remark}")
        self.code = code
        self.fields = fields


@dataclass(frozen=True, slots=True)
class RemotingAnswer:
    """An answer without an error.

    Attributes:
        fields: its header's own fields.
        body: its body.
    """

    fields: Mapping[str, str]
    body: bytes

    def content(self) -> Any:
        """Return the body, which is JSON."""
        return json.loads(_NUMBER_AS_KEY.sub(rb'\1"\2":', self.body))


def ask(
    server: tuple[str, int], code: int, timeout_s: float, fields: Mapping[str, Any] | None = None, body: bytes = b""
) -> RemotingAnswer:
    """Ask one server, and return its answer.

    Args:
        server: its address and port.
        code: see `org.apache.rocketmq.remoting.protocol.RequestCode`.
        timeout_s: of connecting, and of each step after it.
        fields: the header's own fields.
        body: the body.

    Raises:
        Refused: it answered with an error.
        OSError: it does not answer in time, or uses another protocol.
    """
    given = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (fields or {}).items()
    }
    command = {
        "code": code,
        "language": "PYTHON",
        "version": _VERSION,
        "opaque": 1,
        "flag": 0,
        "extFields": given,
        "serializeTypeCurrentRPC": "JSON",
    }
    header = json.dumps(command).encode()
    return _parsed(ask_framed(*server, struct.pack(">i", len(header)) + header + body, timeout_s))


def _parsed(content: bytes) -> RemotingAnswer:
    (marked,) = struct.unpack_from(">i", content)
    size = marked & _LENGTH
    try:
        header = json.loads(content[4 : 4 + size])
        code, remark = int(header["code"]), str(header.get("remark") or "")
    except (ValueError, KeyError, TypeError) as error:
        raise ConnectionError("the server does not use RocketMQ's protocol") from error
    fields = header.get("extFields") or {}
    if code != OK:
        raise RocketRefused(code, remark, fields)
    return RemotingAnswer(fields, content[4 + size :])
