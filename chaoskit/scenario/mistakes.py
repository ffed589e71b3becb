"""Validation of what a user wrote, with every mistake told in the words of a scenario."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract.options import Placing

Model = TypeVar("Model", bound=BaseModel)

_WORDS = {
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "dict_type": "write a mapping: keys with values, each on a line of its own, or {{key: value}}",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "write a whole number",
    "int_parsing": "write a whole number, such as 3",
    "int_type": "write a whole number, such as 3",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "write a list: each entry on a line of its own that begins with -, or [entry, entry]",
    "literal_error": "write one of these: {expected}",
    "mapping_type": "write a mapping: keys with values",
    "model_type": "write a mapping: keys with values, each on a line of its own, or {{key: value}}",
    "string_pattern_mismatch": "write letters, digits and -, no spaces (exactly, as a regular expression: {pattern})",
    "string_type": "write a text; a number needs quotes to be one",
    "too_short": "is empty; write at least one",
}
"""What is said of the errors of pydantic that scenarios can have; of all others, pydantic's own words."""


def validated(
    model: type[Model], content: Mapping[str, Any], source: str, prefix: str, also_known: Iterable[str] = ()
) -> Model:
    """Validate `content` as a model; combine all errors into one `BadInput`.

    Args:
        model: the model.
        content: as the user wrote it.
        source: file or place, for the error message.
        prefix: prefix of the content's keys, such as `cluster.`.
        also_known: further keys that are valid there, for the remedy.

    Raises:
        BadInput: names the source, every invalid key and the remedy.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = [_explain(model, content, detail, prefix, also_known) for detail in error.errors()]
        raise BadInput("\n".join(f"{source}: {line}" for line in dict.fromkeys(lines))) from None


def without_wrong(model: type[Model], content: Mapping[str, Any]) -> Model | None:
    """Return the model without the keys that are wrong, so that the rest can be checked too; None if it needs them."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
    rest = {key: value for key, value in content.items() if key not in wrong}
    return without_wrong(model, rest) if len(rest) < len(content) else None


def _explain(
    model: type[BaseModel], content: Mapping[str, Any], detail: Any, prefix: str, also_known: Iterable[str]
) -> str:
    location = list(_keys(content, detail["loc"], missing=detail["type"] == "missing"))
    key = prefix + ".".join(str(part) for part in location)
    if detail["type"] == "extra_forbidden":
        owner = _owner(model, location[:-1])
        known = [field.alias or name for name, field in owner.model_fields.items()]
        known += [] if location[:-1] else also_known
        remedy = owner.misplaced(str(location[-1])) if isinstance(owner, Placing) else ""
        return f"{key}: unknown key; {remedy or nearest(str(location[-1]), known)}"
    if detail["type"] == "missing":
        return f"{key}: is missing"
    words = _WORDS.get(detail["type"])
    message = words.format(**detail.get("ctx", {})) if words else detail["msg"].removeprefix("Value error, ")
    given = detail["input"] if isinstance(detail["input"], str | int | float) else ""
    return f"{key or 'scenario'}: {message}" + (
        f" (given: {given!r})"
        if given != "" and not re.search(rf"(?<!\w){re.escape(repr(given))}(?!\w)", message)
        else ""
    )


def _owner(model: type[BaseModel], location: Sequence[Any]) -> type[BaseModel]:
    """Return the model of a part of a model."""
    for part in location:
        field = model.model_fields.get(str(part))
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, BaseModel):
            break
        model = field.annotation
    return model


def _keys(content: Any, location: Sequence[Any], *, missing: bool) -> Iterator[Any]:
    """Yield the keys of a pydantic location, which also names types, in what the user wrote.

    Args:
        content: what the user wrote.
        location: the location.
        missing: whether its last key is not there.
    """
    for part in location:
        known = range(len(content)) if isinstance(content, list) else content if isinstance(content, Mapping) else ()
        if part in known:
            yield part
            content = content[part]
    if missing:
        yield location[-1]
