"""Signals: outsiders watch each stage; nothing of ours depends on it, and a receiver that fails harms nobody.

What is told of a change is told after its commit, and not at all if it is rolled back.
"""

from django.dispatch import Signal

appended = Signal()  # messages: as they stand in the log
indexed = Signal()  # index, position: how far a payload index has been built
notified = Signal()  # types: of which listeners were called
advanced = Signal()  # group, position: up to which the log has become open work
claimed = Signal()  # claim: before its messages are fetched
fetched = Signal()  # claim: with its messages
handled = Signal()  # claim, messages: those that are done; error: why it ended early, or None
acked = Signal()  # claim, position: up to which its partition is done
released = Signal()  # claim, error: why it was given back, or None
gave_up = Signal()  # claim, message, error: a message has become a dead letter
completed = Signal()  # claim, messages: what follows from them is committed
swept = Signal()  # seconds: until there is more to do
