"""Secrets are written as references, and resolved by those who connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.secrets import check_secrets, resolved


def test_references_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "one")
    (tmp_path / "token").write_text("two\n")
    given = {"password": {"env": "KAFKA_PASSWORD"}, "token": {"file": str(tmp_path / "token")}, "user": "me", "n": 3}

    assert resolved(given, "cluster.attach") == {"password": "one", "token": "two", "user": "me", "n": 3}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"password": "one"}, r"attach\.password: a scenario is stored with each run, so write \{env: NAME\} or"),
        ({"password": {"env": "NOT_THERE"}}, r"attach\.password: the environment variable NOT_THERE is not set"),
        ({"ca": {"file": "/no/such/file"}}, r"attach\.ca: /no/such/file cannot be read"),
    ],
)
def test_what_is_no_reference_or_leads_nowhere_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        check_secrets(given, "attach", ["password"])
