"""Dead letters: messages that a group gave up on are kept with the reason, delivered again, or discarded."""

from ccc_django.dead_letters.deciding import discard, replay
from ccc_django.dead_letters.finding import Preview, decidable, find, preview
from ccc_django.dead_letters.keeping import add, described, put, put_shared, traced
from ccc_django.dead_letters.redelivering import (
    coming_again,
    drop,
    end_replay,
    give_back,
    pass_by,
    reopen,
    settle,
    take_first_waiting,
    without_partition,
)

__all__ = [
    "Preview",
    "add",
    "coming_again",
    "decidable",
    "described",
    "discard",
    "drop",
    "end_replay",
    "find",
    "give_back",
    "pass_by",
    "preview",
    "put",
    "put_shared",
    "reopen",
    "replay",
    "settle",
    "take_first_waiting",
    "traced",
    "without_partition",
]
