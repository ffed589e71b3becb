"""What the options of a supervisor mean."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.bookkeeper.options import BookKeeperOptions


@pytest.mark.parametrize(
    ("given", "patient", "cookies"),
    [
        ({}, True, True),
        ({"supervisor": "immediate"}, False, False),
        ({"supervisor": "immediate", "repairs": ["cookies"]}, False, True),
        ({"repairs": []}, True, False),
    ],
)
def test_repairs_are_made_by_a_patient_supervisor_or_on_request(
    given: dict[str, Any], patient: bool, cookies: bool
) -> None:
    options = BookKeeperOptions.model_validate(given)

    assert (options.is_patient, options.repairs_cookies) == (patient, cookies)
