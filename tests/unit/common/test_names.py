"""A setting that a release does not know is refused with the nearest one that it knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from clusters.common.names import Known, overridden, raise_any, remembered, unknown

KNOWN = Known("Kafka 4.1.1", frozenset({"min.insync.replicas", "node.id"}), (r"ssl\..+",), {"a.b": "write c"})


def test_known_names_families_and_names_that_are_not_to_be_checked_pass() -> None:
    given = ["min.insync.replicas", "ssl.anything", "my.plugin"]

    assert unknown("cluster.config", given, KNOWN, ["my.plugin"]) == []


def test_a_misspelled_name_is_refused_with_the_nearest() -> None:
    assert unknown("cluster.config", ["Min.insync.replica"], KNOWN, []) == [
        "cluster.config.Min.insync.replica: Kafka 4.1.1 has no such setting; did you mean "
        '"min.insync.replicas"? If a plug-in reads it, list it in cluster.config_unchecked'
    ]


def test_no_name_is_suggested_that_is_not_near() -> None:
    (error,) = unknown("cluster.config", ["fsync"], KNOWN, [])

    assert "did you mean" not in error


def test_a_setting_of_something_else_has_its_own_remedy() -> None:
    assert unknown("cluster.config", ["a.b"], KNOWN, []) == ["cluster.config.a.b: write c"]


def test_what_does_not_reach_the_file_of_every_host_is_refused() -> None:
    files = ["node.id=1\nnum.io.threads=8\n", "node.id=2\nnum.io.threads=8\n"]

    assert overridden("cluster.config", {"num.io.threads": 8, "node.id": None}, files) == []
    (error,) = overridden("cluster.config", {"num.io.threads": 8, "node.id": 1}, files)
    assert error.startswith("cluster.config.node.id: chaoskit sets it itself")


def test_all_errors_are_raised_as_one() -> None:
    raise_any([])
    with pytest.raises(BadInput, match=r"^a\nb$"):
        raise_any(["a", "b"])


def test_names_are_gathered_once_for_a_release(tmp_path: Path) -> None:
    asked: list[Path] = []

    def gather(jars: Path) -> dict[str, list[str]]:
        asked.append(jars)
        return {"broker": ["b", "a"]}

    jars = tmp_path / "kafka-4.1.1"
    first, second = remembered(jars, gather), remembered(jars, gather)

    assert first == second == {"broker": frozenset({"a", "b"})}
    assert asked == [jars]
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_text()) == {"broker": ["a", "b"]}
