"""Validation of what a user wrote, with every mistake told in the words of a scenario."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, PlainSerializer, ValidationError
from pydantic.fields import FieldInfo

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract.options import PlacedRoles

Model = TypeVar("Model", bound=BaseModel)

_EMPTY = "is empty; write at least one"

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
    "string_pattern_mismatch": "write letters, digits and signs such as -, no spaces (exactly: {pattern})",
    "string_type": "write a text; a number needs quotes to be one",
    "tuple_type": "write a list of two, such as [1s, 2s]",
    "too_short": _EMPTY,
}
"""What is said of the errors of pydantic that scenarios can have; of all others, pydantic's own words."""

_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
"""Errors about a value that was already converted, to ns or bytes for example."""


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
        return model.model_validate(_exact(model, content))
    except ValidationError as error:
        lines_by_key: dict[str, dict[str, None]] = {}
        for detail in error.errors():
            key, line = _explain(model, content, detail, prefix, also_known)
            lines_by_key.setdefault(key, {})[line] = None
        # A value that fits none of several types has an error for each; one that is empty fits, but for that.
        lines_by_key = {key: {_EMPTY: None} if _EMPTY in lines else lines for key, lines in lines_by_key.items()}
        raise BadInput(
            "\n".join(f"{source}: {key}: {_alternatives(lines)}" for key, lines in lines_by_key.items())
        ) from None


def _alternatives(lines: Iterable[str]) -> str:
    """Return what a value may be, if it fits none of several types, and at the end what it is."""
    *others, last = lines
    return ", or ".join([*(line.partition(" (given: ")[0] for line in others), last])


def _exact(model: type[BaseModel], content: Any) -> Any:
    """Return the content with what pydantic would convert made wrong: true for a number, and yes for true."""
    if not isinstance(content, Mapping):
        return content
    kinds = {field.alias or name: _kinds(field.annotation) for name, field in model.model_fields.items()}
    exact = dict(content)
    for key, value in content.items():
        kind = kinds.get(key, set())
        for submodel in (
            candidate for candidate in kind if isinstance(candidate, type) and issubclass(candidate, BaseModel)
        ):
            exact[key] = (
                [_exact(submodel, part) for part in value] if isinstance(value, list) else _exact(submodel, value)
            )
        if isinstance(value, bool) and int in kind and bool not in kind:
            exact[key] = str(value).lower()
        elif isinstance(value, str | int) and not isinstance(value, bool) and kind == {bool}:
            exact[key] = [value]
    return exact


def _kinds(annotation: Any) -> set[Any]:
    """Return the types that an annotation names, alone or in a union."""
    return {kind for part in get_args(annotation) for kind in _kinds(part)} or {annotation}


def without_wrong(model: type[Model], content: Mapping[str, Any]) -> Model | None:
    """Return the model without the keys that are wrong, so that the rest can be checked too; None if it needs them."""
    rest = right_keys(model, content)
    try:
        return model.model_validate(rest)
    except ValidationError:
        return without_wrong(model, rest) if len(rest) < len(content) else None


def right_keys(model: type[BaseModel], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content without the keys that a model refuses."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
        return {key: value for key, value in content.items() if key not in wrong}
    return dict(content)


def _explain(
    model: type[BaseModel], content: Mapping[str, Any], detail: Any, prefix: str, also_known: Iterable[str]
) -> tuple[str, str]:
    """Return the key that an error is about, and what is wrong with it."""
    location = list(_keys(content, detail["loc"], missing=detail["type"] == "missing"))
    key = (prefix + ".".join(str(part) for part in location)).rstrip(".") or "scenario"
    owner = _owner(model, location[:-1])
    known = [field.alias or name for name, field in owner.model_fields.items()]
    known += [] if location[:-1] else also_known
    if detail["type"] == "extra_forbidden":
        remedy = owner.misplaced(str(location[-1])) if isinstance(owner, PlacedRoles) else ""
        return key, f"unknown key; {remedy or nearest(str(location[-1]), known)}"
    if detail["type"] == "missing":
        if written := _misspelt(content, location, known):
            return f"{key.rpartition('.')[0]}.{written}".lstrip("."), f"unknown key; {nearest(written, known)}"
        return key, "is missing"
    words = _WORDS.get(detail["type"])
    bounded = detail["type"] in _BOUNDS
    shown = _writing(owner.model_fields.get(str(location[-1]))) if bounded else _as_given
    context = {name: shown(bound) for name, bound in detail.get("ctx", {}).items()}
    message = words.format(**context) if words else detail["msg"].removeprefix("Value error, ")
    given = detail["input"] if isinstance(detail["input"], str | int | float) else ""
    given = shown(given) if isinstance(given, int) else given
    show_given = given != "" and not re.search(rf"(?<!\w){re.escape(repr(given))}(?!\w)", message)
    return key, f"{message} (given: {given!r})" if show_given else message


def _as_given(value: Any) -> Any:
    return value


def _writing(field: FieldInfo | None) -> Callable[[Any], Any]:
    """Return what turns a value of a field into what a user writes: `60s` for a duration in ns."""
    marks = [] if field is None else [*field.metadata, *_marks(field.annotation)]
    writes: Any = next((mark.func for mark in marks if isinstance(mark, PlainSerializer)), None)
    return _as_given if writes is None else writes


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield what `Annotated` says of a type or of one in a union."""
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from _marks(part)


def _misspelt(content: Any, location: Sequence[Any], known: Sequence[str]) -> str:
    """Return the key that was written for one that is missing; empty if none resembles it."""
    for part in location[:-1]:
        content = content[part]
    written = [str(key) for key in content if key not in known] if isinstance(content, Mapping) else []
    return next(iter(difflib.get_close_matches(str(location[-1]), written, 1)), "")


def _owner(model: type[BaseModel], location: Sequence[Any]) -> type[BaseModel]:
    """Return the model of a part of a model."""
    kind: Any = model
    for part in location:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(str(part))
            kind = field.annotation if field is not None else None
        else:
            kind = next(iter(get_args(kind)[-1:]), None)
        kind = _present(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            model = kind
    return model


def _present(annotation: Any) -> Any:
    """Return the type of what may be left out, if it is there."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    return parts[0] if type(None) in get_args(annotation) and len(parts) == 1 else annotation


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
