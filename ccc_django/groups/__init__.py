"""Groups: consumers that share progress, partition by partition."""

from ccc_django.groups.acking import ack, release, renew
from ccc_django.groups.advancing import advance
from ccc_django.groups.claiming import claim_next
from ccc_django.groups.lifecycle import delete, is_active, reset, start, stop
from ccc_django.groups.registering import register

__all__ = [
    "ack",
    "advance",
    "claim_next",
    "delete",
    "is_active",
    "register",
    "release",
    "renew",
    "reset",
    "start",
    "stop",
]
