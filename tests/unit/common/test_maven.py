"""Why a release was not downloaded: it does not exist, or the repository does not answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clusters.common.maven import Release, explain

KAFKA = Release("Kafka", "kafka-9.9.9", ("org.apache.kafka", "kafka_2.13", "9.9.9"), (), "kafka.apache.org/downloads")
ARTIFACT = "org.apache.kafka:kafka_2.13"
CENTRAL = "central (https://maven.example/m2)"
FAILED = "[ERROR] Failed to execute goal on project jars: Could not resolve dependencies for project chaoskit:jars: "


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache."""
    monkeypatch.setenv("CHAOSKIT_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "output",
    [
        f"{FAILED}Could not find artifact {ARTIFACT}:jar:9.9.9 in {CENTRAL} -> [Help 1]",
        f"{FAILED}{ARTIFACT}:jar:9.9.9 was not found in https://maven.example/m2 during a previous attempt",
    ],
)
def test_a_release_that_the_repository_does_not_have_does_not_exist(output: str) -> None:
    assert explain(KAFKA, output) == (
        "cluster.version: there is no Kafka 9.9.9; for a list of releases, see kafka.apache.org/downloads"
    )


@pytest.mark.parametrize(
    ("version", "near"),
    [("3.9", "try 3.9.1, which this machine has; "), ("5.0.0", "try 3.9.1, 4.1.1, which this machine has; ")],
)
def test_the_nearest_releases_that_are_here_are_named(version: str, near: str, cache: Path) -> None:
    for here in ("kafka-3.9.1", "kafka-4.1.1", "kafka-clients-3.9.3", "pulsar-3.9.2"):
        (cache / here).mkdir()
    asked = replace(KAFKA, main=(*KAFKA.main[:2], version))
    output = f"{FAILED}Could not find artifact {ARTIFACT}:jar:{version} in {CENTRAL}"

    assert explain(asked, output).startswith(f"cluster.version: there is no Kafka {version}; {near}for a list")


def test_a_release_whose_parent_the_repository_does_not_have_does_not_exist() -> None:
    parent = ("org.apache.kafka", "kafka", "9.9.9")
    output = f"{FAILED}Non-resolvable import POM: Could not find artifact org.apache.kafka:kafka:pom:9.9.9 in {CENTRAL}"

    assert explain(replace(KAFKA, parent=parent), output).startswith("cluster.version: there is no Kafka 9.9.9; ")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            f"Could not transfer artifact {ARTIFACT}:pom:9.9.9 from/to {CENTRAL}: Connection refused",
            "Connection refused",
        ),
        (f"Could not transfer artifact {ARTIFACT}:pom:9.9.9 from/to {CENTRAL}: Unknown host repo", "Unknown host repo"),
        (
            f"Cannot access {CENTRAL} in offline mode and the artifact {ARTIFACT}:jar:9.9.9 is missing",
            "in offline mode",
        ),
    ],
)
def test_a_repository_that_does_not_answer_says_nothing_about_the_release(cause: str, words: str) -> None:
    said = explain(KAFKA, f"{FAILED}{cause} -> [Help 1]")

    assert said.startswith(
        "Kafka 9.9.9 is not in the cache and cannot be downloaded: the Maven repository does not answer"
    )
    assert words in said
    assert "there is no Kafka" not in said


def test_any_other_error_is_shown() -> None:
    assert explain(KAFKA, "[ERROR] No compiler\n") == "Kafka's jars could not be downloaded: [ERROR] No compiler"
