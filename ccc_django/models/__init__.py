"""Models: the tables of the log, one a file."""

from ccc_django.models.consumer_group import ConsumerGroup
from ccc_django.models.dead_letter import DeadLetter
from ccc_django.models.delivery import Delivery
from ccc_django.models.group_topic import GroupTopic
from ccc_django.models.key_pair import KeyPair
from ccc_django.models.message_key_pair import MessageKeyPair
from ccc_django.models.offset import Offset
from ccc_django.models.offset_key_pair import OffsetKeyPair
from ccc_django.models.payload_index import PayloadIndex
from ccc_django.models.projection import Projection
from ccc_django.models.projection_state import ProjectionState
from ccc_django.models.sample import Sample
from ccc_django.models.scheduled_message import ScheduledMessage
from ccc_django.models.shape import Shape
from ccc_django.models.stored_message import StoredMessage
from ccc_django.models.topic import Topic
from ccc_django.models.topic_subscription import TopicSubscription
from ccc_django.models.worker import Worker

__all__ = [
    "ConsumerGroup",
    "DeadLetter",
    "Delivery",
    "GroupTopic",
    "KeyPair",
    "MessageKeyPair",
    "Offset",
    "OffsetKeyPair",
    "PayloadIndex",
    "Projection",
    "ProjectionState",
    "Sample",
    "ScheduledMessage",
    "Shape",
    "StoredMessage",
    "Topic",
    "TopicSubscription",
    "Worker",
]
