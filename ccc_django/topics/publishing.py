"""Publish: messages are appended to a topic; the publisher does not pay for whoever gets them."""

from collections.abc import Iterable

from ccc_django import store
from ccc_django.conf import conf
from ccc_django.errors import UnknownTopic
from ccc_django.messages import Message, in_topic
from ccc_django.models import Topic
from ccc_django.topics.configuring import configure


def publish(topic: str, messages: Message | Iterable[Message]) -> list[Message]:
    """Append messages to a topic, and return them with their positions; a topic that is not known yet is a queue.

    Under ``CCC_TOPICS_STRICT`` it is refused.
    """
    given = [messages] if isinstance(messages, Message) else [*messages]
    if not given:
        return []
    if not Topic.objects.filter(name=topic).exists():
        if conf.topics_strict:
            raise UnknownTopic(topic)
        configure(topic)
    return store.append([in_topic(message, topic) for message in given])
