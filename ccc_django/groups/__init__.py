"""Groups: consumers that share progress, partition by partition."""

from ccc_django.groups.acking import ack, renew
from ccc_django.groups.advancing import advance
from ccc_django.groups.claiming import claim_next
from ccc_django.groups.lifecycle import delete, is_active, retry, start, stop
from ccc_django.groups.registering import register
from ccc_django.groups.releasing import release
from ccc_django.groups.seeking import reset, seek
from ccc_django.groups.status import Status, status

__all__ = [
    "Status",
    "ack",
    "advance",
    "claim_next",
    "delete",
    "is_active",
    "register",
    "release",
    "renew",
    "reset",
    "retry",
    "seek",
    "start",
    "status",
    "stop",
]
