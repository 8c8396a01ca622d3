"""Semantics of topics: who gets a message."""

QUEUE = "QUEUE"  # one worker of the topic's single group
PUB_SUB = "PUB_SUB"  # every group that has subscribed
