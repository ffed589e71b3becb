"""YAML as people mean it: `on` is a word."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base import yaml


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "On", "OFF", "y", "n"])
def test_words_that_yaml_1_1_took_for_booleans_are_words(word: str) -> None:
    assert yaml.load(f"{{{word}: {word}}}") == {word: word}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("TRUE", True)])
def test_true_and_false_are_booleans(text: str, value: bool) -> None:
    assert yaml.load(f"key: {text}") == {"key": value}


def test_other_scalars_are_as_in_yaml() -> None:
    text = "{a: 1, b: 1.5, c: null, d: 8s, e: '1', f: [x], g: 12:03}"

    assert yaml.load(text) == {"a": 1, "b": 1.5, "c": None, "d": "8s", "e": "1", "f": ["x"], "g": "12:03"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!!python/object/apply:os.getpid []", "line 1: could not determine a constructor"),
        ("a: 1\nb: 2\na: 3", 'line 3: duplicate key "a"'),
        ("a: [1", "line 1: expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(yaml.NotYaml) as refused:
        yaml.load(text)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "content",
    [
        {
            "on": "off",
            "none": None,
            "text": "true",
            "number": "12",
            "float": 1e-7,
            "empty": {},
            "list": [{"b": 1, "a": 2}],
        },
        ["é", "a: b", "# no comment", "two\nlines", "x" * 500],
    ],
)
def test_what_is_written_is_read(content: Any) -> None:
    assert yaml.load(yaml.dump(content)) == content
