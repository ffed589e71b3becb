"""What a client does until all are connected."""

from __future__ import annotations

import os
import subprocess
import sys

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


def test_what_a_library_prints_is_no_message_to_the_harness() -> None:
    program = (
        "import os; from chaoskit.run.worker import HarnessLink, _apart; link = HarnessLink(_apart());"
        "print('from Python', flush=True); os.write(1, b'from C'); os.system('echo from a child');"
        "link.result({'audited': True})"
    )
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=True)

    assert done.stdout == '{"result": {"audited": true}}\n'
    assert all(f"from {who}" in done.stderr for who in ("Python", "C", "a child"))
