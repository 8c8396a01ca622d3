"""Remove: a group leaves a topic, or a topic is forgotten with everything that groups have open in it."""

from django.db import transaction

from ccc_django import wording
from ccc_django.conf import conf
from ccc_django.errors import TopicInUse, UnknownTopic
from ccc_django.groups.lifecycle import locked
from ccc_django.models import ConsumerGroup, Topic, TopicSubscription
from ccc_django.semantics import QUEUE
from ccc_django.topics import scopes
from ccc_django.topics.open_work import open_groups
from ccc_django.topics.records import record_of
from ccc_django.topics.scopes import Scope


def remove_group(topic: str = "", group: str = "", *, namespace: str = "", task: str = "") -> None:
    """Forget a subscription and what was open by it; claims in hand are lost. The group itself stays, and its letters.

    If another subscription of the group covers the topic, that one decides from now on.
    """
    scope = Scope(topic=topic, namespace=namespace, task=task)
    with transaction.atomic(using=conf.database):
        scopes.lock()
        known = _locked_if_there(group)
        record = record_of(group, scope)
        queue = Topic.objects.filter(name=topic, semantics=QUEUE, group_name=group).first()
        if queue is not None:
            raise TopicInUse(
                f"{topic} is a queue, and {group} is its group: topics.delete({topic!r}) forgets the topic, and "
                f"groups.delete({group!r}) the group."
            )
        TopicSubscription.objects.of_group(group).exclude(partition_key="").filter(topic=topic).delete()
        record.delete()
        if known is not None:
            scopes.resolve(known)
        wording.removed(group=group, scope=str(scope))


def _locked_if_there(name: str) -> ConsumerGroup | None:
    """None is a group that was deleted and has kept its subscriptions; one without any is not known."""
    was_deleted = not ConsumerGroup.objects.filter(name=name).exists()
    return None if was_deleted and TopicSubscription.objects.of_group(name).exists() else locked(name)


def delete(name: str, *, force: bool = False) -> None:
    """Forget a topic and the subscriptions to it; its messages stay in the log. With open messages only by force."""
    with transaction.atomic(using=conf.database):
        scopes.lock()
        topic = Topic.objects.select_for_update(no_key=True).filter(name=name).first()
        if topic is None:
            raise UnknownTopic(name)
        if not force and (names := open_groups(name)):
            raise TopicInUse(
                f"{', '.join(names)} has open messages of {name}. Let them be done, or force it after a look at "
                "topics.preview."
            )
        records = TopicSubscription.objects.filter(topic=name)
        concerned = {*records.values_list("group_name", flat=True), *_by_more()}
        scopes.lock_groups(concerned)  # before the topic's row, for which they may wait
        records.delete()
        topic.delete()
        scopes.resolve_all(concerned)
        wording.topic_deleted(topic=name)


def _by_more() -> list[str]:
    """Groups that get topics by a namespace or a task."""
    return [*TopicSubscription.objects.whole().filter(topic="").values_list("group_name", flat=True)]
