"""YAML as people mean it: `on` is a word."""

from __future__ import annotations

import pytest
import yaml

from chaoskit import yaml12


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "On", "OFF", "y", "n"])
def test_words_that_yaml_1_1_took_for_booleans_are_words(word: str) -> None:
    assert yaml12.load(f"{{{word}: {word}}}") == {word: word}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("TRUE", True)])
def test_true_and_false_are_booleans(text: str, value: bool) -> None:
    assert yaml12.load(f"key: {text}") == {"key": value}


def test_other_scalars_are_as_in_yaml() -> None:
    text = "{a: 1, b: 1.5, c: null, d: 8s, e: '1', f: [x]}"

    assert yaml12.load(text) == {"a": 1, "b": 1.5, "c": None, "d": "8s", "e": "1", "f": ["x"]}


def test_the_loader_of_others_keeps_its_booleans() -> None:
    yaml12.load("{}")

    assert yaml.safe_load("on") is True


def test_tags_that_would_run_code_are_refused() -> None:
    with pytest.raises(yaml.YAMLError):
        yaml12.load("!!python/object/apply:os.getpid []")
