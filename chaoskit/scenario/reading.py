"""Reading YAML files that users write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput


def load_mapping(path: Path, expected: str) -> dict[str, Any]:
    """Read a YAML file that contains a mapping; `expected` describes it in the error message.

    Raises:
        BadInput: names the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInput(f"{path}: no such file") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
    try:
        content = yaml.load(text)
    except yaml.NotYaml as error:
        raise BadInput(f"{path}: is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise BadInput(f"{path}: {expected}")
    return content
