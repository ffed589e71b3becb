"""Scenarios are found as files and by name, with all their variants or one."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.scenario.files import find, find_sweep, meanings, ready_made, ready_made_sweeps, summary_of
from chaoskit.scenario.reading import load_mapping

WRITTEN = """\
# What it shows. And more.
name: mine
cluster: {system: kafka, config: {a: 1}}
workload: {kind: log}
expect: {lost: none}
variants:
  weak:
    cluster: {config: {b: 2}}
    expect: {lost: some}
  strong: {}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(WRITTEN)
    return path


def test_a_file_gives_all_its_variants_laid_over_the_rest(file: Path) -> None:
    weak, strong = find(str(file))

    assert (weak.source, strong.source) == (f"{file}:weak", f"{file}:strong")
    assert weak.content["cluster"] == {"system": "kafka", "config": {"a": 1, "b": 2}}
    assert [variant.content["expect"] for variant in (weak, strong)] == [{"lost": "some"}, {"lost": "none"}]
    assert [variant.parsed().name for variant in (weak, strong)] == ["mine.weak", "mine.strong"]


def test_one_variant_is_named_behind_a_colon(file: Path) -> None:
    (scenario,) = find(f"{file}:strong")

    assert scenario.parsed().name == "mine.strong"


def test_a_file_without_variants_is_one_scenario(file: Path) -> None:
    file.write_text(WRITTEN.partition("variants")[0])
    (scenario,) = find(str(file))

    assert (scenario.source, scenario.parsed().name) == (str(file), "mine")


def test_a_relative_name_is_looked_for_where_it_is_written(file: Path) -> None:
    assert len(find("mine.yaml", file.parent)) == 2


def test_a_ready_made_scenario_is_known_by_its_name() -> None:
    assert [scenario.parsed().name for scenario in find("kafka/power-all:os-flush")] == ["kafka-power-all.os-flush"]
    assert "sweeps/dedup" not in ready_made()
    assert find_sweep("sweeps/dedup").name == "dedup.yaml"


def test_its_first_sentence_says_what_it_shows(file: Path) -> None:
    assert summary_of(file) == "What it shows"


@pytest.mark.parametrize(
    ("spec", "refusal"),
    [
        ("kafka/power-al", 'no such file or ready-made scenario; did you mean "kafka/power-all"?'),
        ("kafka/power-all:os-fush", 'power-all.yaml; did you mean "os-flush"?'),
        ("gone.yaml", "gone.yaml: no such file"),
    ],
)
def test_what_is_not_there_is_told_with_the_nearest(spec: str, refusal: str) -> None:
    with pytest.raises(BadInput) as refused:
        find(spec)

    assert refusal in str(refused.value)


@pytest.mark.parametrize(
    ("variants", "refusal"),
    [("[weak]", "variants: "), ("{a b: {}}", "variants.a b: "), ("{weak: 5}", "variants.weak: ")],
)
def test_variants_that_are_none_are_refused(file: Path, variants: str, refusal: str) -> None:
    file.write_text(WRITTEN.partition("variants")[0] + f"variants: {variants}\n")

    with pytest.raises(BadInput, match=r"mine\.yaml") as refused:
        find(str(file))

    assert refusal in str(refused.value)


def test_a_sweep_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(BadInput, match='did you mean "sweeps/dedup"'):
        find_sweep("sweeps/dedupe")


def test_a_word_for_an_incident_means_something_that_is_there() -> None:
    made = {**ready_made(), **ready_made_sweeps()}
    texts = [f"{name}\n{path.read_text()}".lower() for name, path in made.items()]
    words = load_mapping(Path(__file__).parents[3] / "scenarios" / "words.yaml", "words")

    for word, means in words.items():
        assert meanings(word.upper()) == [word, *means]
        assert not [meaning for meaning in means if not any(meaning in text for text in texts)], word
    assert meanings("Nonsense") == ["nonsense"]
