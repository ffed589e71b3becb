"""YAML with the booleans of YAML 1.2: `on`, `off`, `yes` and `no` are words, as `on: leader` needs."""

from __future__ import annotations

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """A safe loader for which only `true` and `false` are booleans, and no key may stand twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def load(text: str) -> Any:
    """Return the content of a YAML document.

    >>> load("{on: leader}")
    {'on': 'leader'}

    Raises:
        yaml.YAMLError: it is not YAML.
    """
    return yaml.load(text, _Loader)  # noqa: S506  # a subclass of the safe loader
