"""YAML 1.2: only `true` and `false` are booleans, so `on: leader` needs no quotes. Duplicate keys are errors."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError


class NotYaml(ValueError):
    """The text is not valid YAML, or has a duplicate key; the message names the line."""


def load(text: str) -> Any:
    """Return the content of a YAML document.

    >>> load("{on: leader}")
    {'on': 'leader'}

    Raises:
        NotYaml: the text is not valid YAML.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise NotYaml(_explain(error)) from error


def dump(content: Any) -> str:
    """Return a YAML document with this content; keys keep their order.

    >>> dump({"on": "leader", "at": ["1s", "2s"]})
    'on: leader\\nat:\\n- 1s\\n- 2s\\n'
    """
    writer: Any = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False
    writer.width = 120
    text = io.StringIO()
    writer.dump(content, text)
    return text.getvalue()


def _explain(error: YAMLError) -> str:
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return str(error)
    problem = str(error.problem)
    if isinstance(error, DuplicateKeyError):
        problem = problem.removeprefix("found ").partition(" with value")[0]
    elif "'\\t'" in problem:
        problem = "there is a tab; YAML is indented with spaces"
    return f"line {error.problem_mark.line + 1}: {problem}"
