"""All histories of the gallery, those of every family."""

from __future__ import annotations

import gallery_ledgers  # noqa: F401  # hangs its histories
import gallery_subscriptions  # noqa: F401  # as above
import gallery_transactions  # noqa: F401  # as above
from gallery_log import GALLERY

__all__ = ["GALLERY"]
