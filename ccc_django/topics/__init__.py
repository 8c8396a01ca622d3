"""Topics: named channels, as queues or publish/subscribe, and groups that subscribe to them."""

from ccc_django.semantics import PUB_SUB, QUEUE
from ccc_django.topics.backfilling import Backfill, backfill, backfill_status, cancel_backfill, limit_backfill
from ccc_django.topics.claiming import claim
from ccc_django.topics.completing import Progress, force_complete, progress
from ccc_django.topics.configuring import configure
from ccc_django.topics.figures import GroupHealth, fan_out, health
from ccc_django.topics.heartbeats import beat, bury, heartbeat
from ccc_django.topics.previewing import Preview, preview
from ccc_django.topics.pruning import Pruned, prune, prune_some
from ccc_django.topics.publishing import publish
from ccc_django.topics.removing import delete, remove_group
from ccc_django.topics.restarting import restart
from ccc_django.topics.steering import cancel, pause, resume
from ccc_django.topics.subscribing import subscribe

__all__ = [
    "PUB_SUB",
    "QUEUE",
    "Backfill",
    "GroupHealth",
    "Preview",
    "Progress",
    "Pruned",
    "backfill",
    "backfill_status",
    "beat",
    "bury",
    "cancel",
    "cancel_backfill",
    "claim",
    "configure",
    "delete",
    "fan_out",
    "force_complete",
    "health",
    "heartbeat",
    "limit_backfill",
    "pause",
    "preview",
    "progress",
    "prune",
    "prune_some",
    "publish",
    "remove_group",
    "restart",
    "resume",
    "subscribe",
]
