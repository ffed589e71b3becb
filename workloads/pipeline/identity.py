"""Where an output has the id of its input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from workloads.pipeline.functions import FunctionName, function


def _pointer(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError(f"{text!r} is no JSON pointer (RFC 6901); it begins with /, such as /order")
    return text


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    if groups != 1:
        raise ValueError(f"{text!r} must have one group, which is the id, such as order-([0-9]+)")
    return text


class Identity(BaseModel):
    """Where the id is; one of these, or none: the whole value is the id.

    Attributes:
        json: a JSON pointer (RFC 6901) into the value.
        header: the header that has it.
        key: whether the key is the id.
        regex: a regular expression over the value, whose group is the id.
        python: a function of the value, the key and the headers that returns the id.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    json_: Annotated[str, AfterValidator(_pointer)] | None = Field(default=None, alias="json")
    header: str = ""
    key: bool = False
    regex: Annotated[str, AfterValidator(_pattern)] | None = None
    python: FunctionName = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if given == "key":
            return {"key": True}
        return given

    @model_validator(mode="after")
    def _one(self) -> Self:
        ways = [self.json_ is not None, bool(self.header), self.key, self.regex is not None, bool(self.python)]
        if sum(ways) > 1:
            raise ValueError("give one of json, header, key, regex and python")
        return self

    def finder(self) -> Callable[[bytes, bytes | None, Mapping[str, bytes]], int | None]:
        """Return what finds the id of an output's input; it returns None if there is none."""
        find = function(self.python) if self.python else self._of
        return lambda value, key, headers: _number(find(value, key, headers))

    def _of(self, value: bytes, key: bytes | None, headers: Mapping[str, bytes]) -> Any:
        if self.header:
            return headers.get(self.header)
        if self.key:
            return key
        if self.regex is not None:
            match = re.search(self.regex, value.decode(errors="replace"))
            return match and match.group(1)
        return value if self.json_ is None else _pointed(value, self.json_)


def _pointed(value: bytes, pointer: str) -> Any:
    """Return what a JSON pointer points at; None if the value is no JSON, or has no such place."""
    try:
        place = json.loads(value)
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            place = place[int(name)] if isinstance(place, list) else place[name]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return place


def _number(identity: Any) -> int | None:
    text = identity.decode(errors="replace") if isinstance(identity, bytes) else str(identity)
    return int(text) if text.strip().isdecimal() else None
