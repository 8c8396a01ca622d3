"""ccc_django: an event log inside the Django database. This module holds the vocabulary only.

What touches the database is reached by module: ``from ccc_django import store``, then ``store.append(…)``.
"""

from ccc_django.attributes import Indexed, KeyPair, Sensitive, Unindexed
from ccc_django.canonical import key_pair_id
from ccc_django.conditions import Condition
from ccc_django.consumers.actions import RunAfterCommit, RunInTransaction, Schedule
from ccc_django.consumers.base import decides, evolves, reacts
from ccc_django.consumers.decider import CommandRejected, Decider
from ccc_django.consumers.functions import consumer
from ccc_django.consumers.projector import Projector
from ccc_django.declarations import upcast
from ccc_django.errors import DomainError
from ccc_django.expressions import where
from ccc_django.filters import Filter
from ccc_django.guards import Guard
from ccc_django.messages import Command, Event, Message
from ccc_django.restoring import UnknownMessage
from ccc_django.retry import DEAD_LETTER, STOP_GROUP, STOP_PARTITION, Retry
from ccc_django.semantics import PUB_SUB, QUEUE

__version__ = "0.1.0.dev0"

__all__ = [
    "DEAD_LETTER",
    "PUB_SUB",
    "QUEUE",
    "STOP_GROUP",
    "STOP_PARTITION",
    "Command",
    "CommandRejected",
    "Condition",
    "Decider",
    "DomainError",
    "Event",
    "Filter",
    "Guard",
    "Indexed",
    "KeyPair",
    "Message",
    "Projector",
    "Retry",
    "RunAfterCommit",
    "RunInTransaction",
    "Schedule",
    "Sensitive",
    "Unindexed",
    "UnknownMessage",
    "consumer",
    "decides",
    "evolves",
    "key_pair_id",
    "reacts",
    "upcast",
    "where",
]
