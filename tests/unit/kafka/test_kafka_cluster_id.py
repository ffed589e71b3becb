from __future__ import annotations

import base64
import uuid

import pytest

from clusters.kafka.deploy.nodes import cluster_id


def test_a_cluster_id_never_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    dashed, plain = uuid.UUID(int=0b111110 << 122), uuid.UUID(int=1)
    assert base64.urlsafe_b64encode(dashed.bytes).startswith(b"-")
    drawn = iter([dashed, plain])
    monkeypatch.setattr(uuid, "uuid4", lambda: next(drawn))

    assert cluster_id() == base64.urlsafe_b64encode(plain.bytes).decode().rstrip("=")
