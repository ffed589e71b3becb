"""What a client does until all are connected."""

from __future__ import annotations

import os

from chaoskit.base.waiting import wait_until
from chaoskit.run.worker import HarnessLink


def test_a_client_looks_after_its_connection_until_the_start() -> None:
    orders, harness = os.pipe()
    link = HarnessLink()
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        if len(looks) == 3:
            os.write(harness, b"start 42\n")

    with os.fdopen(orders, "rb", buffering=0) as link._orders:
        assert link.wait_start(look) == 42
        assert len(looks) == 3
        os.write(harness, b"stop\n")
        assert wait_until(lambda: link.stopping, 60)
    os.close(harness)
