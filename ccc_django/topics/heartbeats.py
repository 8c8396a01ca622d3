"""Heartbeats: groups say that they are there; one that did and then is silent is dead, until it says so again."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from pydantic_core import to_json

from ccc_django import db, wording
from ccc_django.conf import conf
from ccc_django.models import TopicSubscription
from ccc_django.topics.losing import go_on
from ccc_django.topics.records import record_of
from ccc_django.topics.scopes import Scope


def heartbeat(topic: str = "", *, group: str, namespace: str = "", task: str = "") -> TopicSubscription:
    """Say that a group is there; a dead subscription goes on where it stood, a cancelled one stays cancelled."""
    record = record_of(group, Scope(topic=topic, namespace=namespace, task=task), for_update=False)
    _beat([group], only=record.pk)
    record.refresh_from_db()
    return record


def beat(groups: Iterable[str]) -> None:
    """The same for everything that some groups have subscribed to, where it is time."""
    _beat(sorted({*groups}), only=0)


def bury() -> list[str]:
    """Mark what is silent for longer than its time-out as dead; what it was."""
    rows = db.rows("bury_subscriptions")
    dead = [f"{group}: {Scope(topic=topic, namespace=space, task=task)}" for group, topic, space, task in rows]
    for each in dead:
        wording.buried(subscription=each)
    return dead


def _beat(groups: list[str], *, only: int) -> None:
    """Subscriptions that are due, in the order of ids; a single one at once."""
    called: dict[str, Any] = {"groups": to_json(groups).decode() if db.is_sqlite() else groups, "only": only}
    dead, _ = db.in_one_trip(("dead_subscriptions", called), ("beat_subscriptions", called | {"revives": False}))
    if dead:
        _revive([id for id, *_ in dead], called)
    for _, group, topic, namespace, task in dead:
        wording.revived(group=group, scope=str(Scope(topic=topic, namespace=namespace, task=task)))


def _revive(dead: list[int], called: dict[str, Any]) -> None:
    """Nobody prunes what they need before all can see that they live."""
    with transaction.atomic(using=conf.database):
        go_on(dead)
        db.rows("beat_subscriptions", **called, revives=True)
