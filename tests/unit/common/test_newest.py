"""The newest release is the first one of the list that the repository also serves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput, WouldDownload
from clusters.common import newest as module
from clusters.common.newest import listed, newest

ARTIFACT = ("org.apache.kafka", "kafka_2.13")
LISTED = ["4.10.0", "4.9.0", "4.1.1"]

MAVEN = """#!/bin/sh
for argument; do case $argument in -Doutput=*) printf %s "$REPOSITORY" > "${argument#-Doutput=}" ;; esac; done
echo "[ERROR] Could not find artifact org.apache.kafka:kafka_2.13:pom:4.10.0"
exit 1
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which Maven keeps what it was told; a Maven that is told nothing more is found."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(MAVEN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("REPOSITORY", str(tmp_path))
    folder = tmp_path / "org" / "apache" / "kafka" / "kafka_2.13"
    folder.mkdir(parents=True)
    return folder


def _fetch(version: str) -> None:
    if version == "4.10.0":
        raise BadInput("cluster.version: there is no Kafka 4.10.0")


def test_stable_releases_are_listed_by_their_numbers(repository: Path) -> None:
    versions = ["4.1.1", "4.9.0", "4.10.0", "4.11.0-rc1", "5.0.0-M1"]
    lines = "".join(f"<version>{version}</version>\n" for version in versions)
    (repository / "maven-metadata-central.xml").write_text(f"<metadata><versions>{lines}</versions></metadata>")

    assert listed("Kafka", *ARTIFACT) == LISTED


def test_a_repository_that_lists_nothing_is_told_with_its_words(repository: Path) -> None:
    with pytest.raises(BadInput, match=r"does not list the releases of Kafka; .* write a release: \[ERROR\] Could not"):
        listed("Kafka", *ARTIFACT)


@pytest.fixture
def _list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "listed", lambda *_: LISTED)


@pytest.mark.usefixtures("_list")
def test_a_release_that_is_listed_and_not_served_is_passed_over() -> None:
    assert newest("Kafka", ARTIFACT, _fetch) == "4.9.0"


@pytest.mark.usefixtures("_list")
def test_a_dry_run_downloads_none() -> None:
    def fetch(_: str) -> None:
        raise WouldDownload

    assert newest("Kafka", ARTIFACT, fetch) == "4.10.0"


@pytest.mark.usefixtures("_list")
def test_if_none_is_served_the_reason_of_the_first_is_told() -> None:
    def fetch(version: str) -> None:
        raise BadInput(f"there is no Kafka {version}")

    with pytest.raises(BadInput, match=r"none of the newest 3 releases of Kafka .*: there is no Kafka 4\.10\.0"):
        newest("Kafka", ARTIFACT, fetch)
