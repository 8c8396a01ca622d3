"""The example's main job."""

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from ccc_django import CommandRejected, DomainError, Message, consumers, groups, store
from ccc_django.consumers.declaring import declare
from ccc_django.consumers.runner import run
from ccc_django.envelope import uuid7
from courses.consumers import Enrolment
from courses.messages import CourseCreated, JoinCourse
from courses.progress import progress
from courses.term import beginning, end

BATCH = 500


class Command(BaseCommand):
    """Run a term: students want seats, a decider gives them, and everything is read back from the log."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The size of the term."""
        parser.add_argument("--students", type=int, default=400, help="how many students register (default 400)")
        parser.add_argument("--courses", type=int, default=24, help="how many courses there are (default 24)")
        parser.add_argument("--seed", type=int, default=1, help="another seed, another term (default 1)")

    def handle(self, *, students: int, courses: int, seed: int, **_options: Any) -> None:
        """Append the term's messages, decide on its commands, read everything back, and say what happened."""
        messages = list(beginning(students=students, courses=courses, seed=seed))
        if not messages:
            raise CommandError("A term without students and courses has no messages.")
        started = time.perf_counter()
        stored = append(messages)
        decide()
        stored += store.append(end(courses=courses))
        log = list(store.stream(after=(stored[0].position or 1) - 1))
        self.report(log, time.perf_counter() - started)
        given = {message.id for message in stored}
        if [message for message in log if message.id in given] != stored:
            raise CommandError("SOMETHING WAS LOST.")
        self.stdout.write("\nEvery message came back exactly as it was.")

    def report(self, log: list[Message], seconds: float) -> None:
        """What happened, for people."""
        facts = (message for message in log if not isinstance(message, CommandRejected))
        pairs = Counter(pair for message in facts for pair in message.key_pairs)
        self.stdout.write(f"\n{len(log):,} messages appended, decided on and read back in {seconds:.1f} s\n")
        for type, count in Counter(message.type for message in log).most_common():
            self.stdout.write(f"  {count:>7,}  {type}")
        self.stdout.write(f"\nThey can be found by {len(pairs):,} attribute values. The busiest:")
        for pair, count in pairs.most_common(3):
            self.stdout.write(f"  {count:>7,}  {pair.name} = {pair.value.partition(':')[2]}")
        self.stdout.write("\nThe last seat of a course, wanted by four at once:")
        for line in last_seat():
            self.stdout.write(f"  {line}")


def append(messages: list[Message]) -> list[Message]:
    """Write the messages in batches."""
    remaining = progress(messages, total=len(messages), label="Running the term")
    stored: list[Message] = []
    while batch := list(islice(remaining, BATCH)):
        stored += store.append(batch)
    return stored


def decide() -> None:
    """Give seats to those who wanted them, course by course, as manage.py consume does in the background."""
    declare(Enrolment)
    while claim := groups.claim_next("enrolment", worker="run_term"):
        run(Enrolment, claim)


def last_seat() -> Iterator[str]:
    """Four ask at the same moment; one of them gets it."""
    course = f"Latin {uuid7()}"
    store.append(CourseCreated(course_name=course, capacity=1))
    with ThreadPoolExecutor(max_workers=4) as threads:
        yield from threads.map(lambda user: ask(course, user), ("ann", "joe", "mia", "tom"))


def ask(course: str, user: str) -> str:
    """What somebody is told."""
    try:
        consumers.handle(JoinCourse(course_name=course, user_id=user))
    except DomainError as refusal:
        return f"{user} is refused: {type(refusal).__name__}"
    else:
        return f"{user} has a seat"
    finally:
        connection.close()
