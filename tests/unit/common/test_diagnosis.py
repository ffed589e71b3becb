"""What `chaoskit doctor` says of packages that are optional."""

from __future__ import annotations

from importlib.metadata import version

from clusters.common.diagnosis import packages


def test_packages_are_told_with_their_versions() -> None:
    finding = packages("rows", "sql", ("sqlalchemy", "psycopg"))

    assert finding.works
    assert finding.name == "rows (extra sql)"
    assert finding.detail == f"sqlalchemy {version('sqlalchemy')}, psycopg {version('psycopg')}"


def test_packages_that_are_missing_are_told_with_the_remedy() -> None:
    finding = packages("rows", "sql", ("sqlalchemy", "nothing-of-the-kind"))

    assert not finding.works
    assert not finding.required
    assert finding.detail == "no nothing-of-the-kind"
    assert "[sql]" in finding.remedy
