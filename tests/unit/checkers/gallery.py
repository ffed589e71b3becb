"""All histories of the gallery, those of every family; of queues and feeds, those of anomalies that only they have."""

from __future__ import annotations

import gallery_dead_letters  # noqa: F401  # hangs its histories
import gallery_ledgers  # noqa: F401  # as above
import gallery_pipelines  # noqa: F401  # as above
import gallery_queue_settings  # noqa: F401  # as above
import gallery_queues  # noqa: F401  # as above
import gallery_subscriptions  # noqa: F401  # as above
import gallery_transactions  # noqa: F401  # as above
from gallery_feeds import FEEDS
from gallery_log import GALLERY as LOGS
from queue_story import QUEUES

GALLERY = FEEDS | QUEUES | LOGS
GALLERY = {name: GALLERY[name] for name in dict.fromkeys([*LOGS, *QUEUES, *FEEDS])}

__all__ = ["FEEDS", "GALLERY", "QUEUES"]
