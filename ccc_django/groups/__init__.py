"""Groups: consumers that share progress, partition by partition."""

from ccc_django.groups.acking import ack, go_on, renew
from ccc_django.groups.advancing import advance
from ccc_django.groups.claiming import claim_next
from ccc_django.groups.lifecycle import delete, is_active, retry, start, stop
from ccc_django.groups.previewing import preview
from ccc_django.groups.previews import Preview
from ccc_django.groups.registering import register
from ccc_django.groups.releasing import release
from ccc_django.groups.seeking import reset, seek
from ccc_django.groups.status import Status, is_empty, status, statuses

__all__ = [
    "Preview",
    "Status",
    "ack",
    "advance",
    "claim_next",
    "delete",
    "go_on",
    "is_active",
    "is_empty",
    "preview",
    "register",
    "release",
    "renew",
    "reset",
    "retry",
    "seek",
    "start",
    "status",
    "statuses",
    "stop",
]
