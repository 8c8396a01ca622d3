"""Steer: subscriptions are paused, resumed and cancelled, also while workers run; where they stand is kept."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Case, F, When
from django.db.models.functions import Now

from ccc_django import wording
from ccc_django.conf import conf
from ccc_django.errors import SubscriptionRefused
from ccc_django.models import TopicSubscription
from ccc_django.models.topic_subscription import LIVE
from ccc_django.models.topic_subscription import SubscriptionStatus as Status
from ccc_django.topics.losing import go_on
from ccc_django.topics.records import record_of
from ccc_django.topics.scopes import Scope


def pause(topic: str = "", *, group: str, namespace: str = "", task: str = "") -> TopicSubscription:
    """Deliver nothing until it is resumed; messages are kept for it."""
    scope = Scope(topic=topic, namespace=namespace, task=task)
    return _put(group, scope, Status.PAUSED, unless=[Status.CANCELLED])


def resume(topic: str = "", *, group: str, namespace: str = "", task: str = "") -> TopicSubscription:
    """Deliver again, from where it stood; also what was cancelled or has died."""
    scope = Scope(topic=topic, namespace=namespace, task=task)
    return _put(group, scope, Status.ACTIVE)


def cancel(topic: str = "", *, group: str, namespace: str = "", task: str = "") -> TopicSubscription:
    """Deliver nothing any more, and keep nothing for it; where it stands is remembered."""
    scope = Scope(topic=topic, namespace=namespace, task=task)
    return _put(group, scope, Status.CANCELLED)


def _put(group: str, scope: Scope, status: Status, unless: Iterable[Status] = ()) -> TopicSubscription:
    with transaction.atomic(using=conf.database):
        record = record_of(group, scope)
        if record.status in {*unless}:
            raise SubscriptionRefused(f"{group} has cancelled {scope}: subscribe again first.")
        if record.status != status:
            if status in LIVE and record.status not in LIVE:
                go_on([record.pk])
            beaten = Case(When(last_heartbeat_at__isnull=False, then=Now()), default=F("last_heartbeat_at"))
            TopicSubscription.objects.filter(pk=record.pk).update(
                status=status, last_active_at=Now(), last_heartbeat_at=beaten
            )
            wording.steered(group=group, scope=str(scope), was=record.status, status=status)
        record.refresh_from_db()
    return record
