"""Claim: some messages of a topic for a worker of a group; who has not subscribed yet does so first."""

from datetime import timedelta

from ccc_django import db, groups
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.groups.durations import LEASE
from ccc_django.models import GroupTopic
from ccc_django.topics.starts import At
from ccc_django.topics.subscribing import subscribe

LIMIT = 50

_known: set[tuple[str, str, str]] = set()  # by database, group and topic; one that finds nothing is looked at again


def claim(
    topic: str,
    *,
    group: str,
    worker: str,
    limit: int = LIMIT,
    lease: timedelta = LEASE,
    mode: str | None = None,
    at: At = None,
) -> Claim | None:
    """Messages of a topic that nobody of the group is at; of an ordered group, a partition. None if there is none.

    A group that is not known in the topic is subscribed before anything is read, with the mode that is given or that
    the settings say.
    """
    place = (conf.database, group, topic)
    if place not in _known:
        if not GroupTopic.objects.filter(group__name=group, topic=topic).exists():
            subscribe(topic, group=group, mode=mode, at=at)
        if not db.in_transaction():  # what is rolled back must not be remembered
            _known.add(place)
    found = groups.claim_next(group, worker=worker, limit=limit, lease=lease, topic=topic)
    if found is None:
        _known.discard(place)
    return found


def forget() -> None:
    """Remember nothing."""
    _known.clear()
