"""The example's main job."""

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ccc_django import Message, store
from ccc_django.envelope import uuid7
from ccc_django.errors import AppendConflict
from courses.enrolment import Refused, context, decide
from courses.messages import CourseCreated, JoinCourse
from courses.progress import progress
from courses.term import term

BATCH = 500


class Command(BaseCommand):
    """Run a term: courses are joined, orders are placed, everything is appended and read back."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The size of the term."""
        parser.add_argument("--students", type=int, default=400, help="how many students register (default 400)")
        parser.add_argument("--courses", type=int, default=24, help="how many courses there are (default 24)")
        parser.add_argument("--seed", type=int, default=1, help="another seed, another term (default 1)")

    def handle(self, *, students: int, courses: int, seed: int, **_options: Any) -> None:
        """Store the term's messages, read them back, and say what happened."""
        messages = list(term(students=students, courses=courses, seed=seed))
        if not messages:
            raise CommandError("A term without students and courses has no messages.")
        started = time.perf_counter()
        stored = append(messages)
        restored = list(store.stream(after=(stored[0].position or 1) - 1))
        seconds = time.perf_counter() - started
        self.report(messages, seconds, same=restored == messages)

    def report(self, messages: list[Message], seconds: float, *, same: bool) -> None:
        """What happened, for people."""
        pairs = Counter(pair for message in messages for pair in message.key_pairs)
        self.stdout.write(f"\n{len(messages):,} messages appended and read back in {seconds:.1f} s\n")
        for type, count in Counter(message.type for message in messages).most_common():
            self.stdout.write(f"  {count:>7,}  {type}")
        self.stdout.write(f"\nThey can be found by {len(pairs):,} attribute values. The busiest:")
        for pair, count in pairs.most_common(3):
            self.stdout.write(f"  {count:>7,}  {pair.name} = {pair.value.partition(':')[2]}")
        self.stdout.write("\nThe last seat of a course, wanted by two at once:")
        for line in last_seat():
            self.stdout.write(f"  {line}")
        self.stdout.write("\nEvery message came back exactly as it was." if same else "\nSOMETHING WAS LOST.")
        if not same:
            raise SystemExit(1)


def append(messages: list[Message]) -> list[Message]:
    """Write the messages in batches."""
    remaining = progress(messages, total=len(messages), label="Running the term")
    stored: list[Message] = []
    while batch := list(islice(remaining, BATCH)):
        stored += store.append(batch)
    return stored


def last_seat() -> Iterator[str]:
    """Two decide on the same facts; the log lets one of them through."""
    course = f"Latin {uuid7()}"
    store.append(CourseCreated(course_name=course, capacity=1))
    commands = [JoinCourse(course_name=course, user_id=user) for user in ("ann", "joe")]
    contexts = [context(course) for _ in commands]
    events = [decide(command, seen.messages) for command, seen in zip(commands, contexts, strict=True)]
    store.append([commands[0], events[0]], guard=contexts[0].guard)
    yield "ann sees a free seat and takes it"
    try:
        store.append([commands[1], events[1]], guard=contexts[1].guard)
    except AppendConflict as conflict:
        yield f"joe saw a free seat too, but {conflict.types[0]} at {conflict.positions[0]} came first: read again"
    try:
        decide(commands[1], context(course).messages)
    except Refused:
        yield "joe reads again and is refused: the course is full"
