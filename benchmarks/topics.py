"""Topics: publishing to many groups, shared delivery beside a raw loop, claims under many subscriptions, and health."""

import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import topics_contestants as contestants
from benchmarks.groups import raw_cursor, settle
from benchmarks.measuring import publish, say, take_turns
from benchmarks.topics_contestants import BATCH

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
SIZE = int(
    os.environ.get("CCC_BENCH_TOPIC", "20000" if QUICK else "1000000")
)  # messages of the topic that is looked at
SUBSCRIBED = (0, 1, 10, 50)
ROUNDS = int(os.environ.get("CCC_BENCH_ROUNDS", "7" if QUICK else "31"))
CALLS = 10 if QUICK else 20
BACKLOG = 2_000 if QUICK else 10_000  # messages that are drained from nothing
RECORDS = {
    1: [{"namespace": "shop"}],
    3: [{"namespace": "shop"}, {"task": "order"}, {"namespace": "shop", "task": "order"}],
}

Figures = dict[Any, float]


def main() -> None:
    """Measure and publish."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    parts = os.environ.get("CCC_BENCH_PARTS", "publishing delivering claiming looking").split()
    measures = {"publishing": publishing, "delivering": delivering, "claiming": claiming, "looking": looking}
    figures = {}
    for name in parts:
        figures[name] = measures[name]()
        say(f"{name}: {json.dumps(figures[name])}")
    if len(parts) == len(measures):
        publish("topics", "Topics", page(figures))


def publishing() -> dict[int, Figures]:
    """Microseconds of one publish, by how many messages it has and how many groups have subscribed."""
    from ccc_django import topics

    for count in SUBSCRIBED:
        topics.configure(f"publish-{count}", semantics=topics.PUB_SUB)
        for number in range(count):
            topics.subscribe(f"publish-{count}", group=f"p{count}-{number}", mode="all")
    settle()

    def to(count: int, size: int) -> Callable[[], object]:
        return lambda: topics.publish(f"publish-{count}", [contestants.ordered() for _ in range(size)])

    figures: dict[int, Figures] = {}
    for size, calls in ((1, CALLS), (100, max(CALLS // 5, 2))):
        works: dict[Any, Callable[[], object]] = {count: to(count, size) for count in SUBSCRIBED}
        take_turns(works, calls=calls, rounds=2)
        figures[size] = microseconds(take_turns(works, calls=calls, rounds=ROUNDS))
    return figures


def delivering() -> dict[str, Figures]:
    """Messages a second in batches, with deliveries that are there already, and with those that are to be made.

    And the median of the rounds' own ratios to the raw loop.
    """
    from ccc_django import topics

    rounds, calls = (3, 10) if QUICK else (11, 40)
    needed = (rounds + 1) * calls * BATCH
    topics.configure("deliver", semantics=topics.PUB_SUB)
    names = ("separate", "merged")
    contestants.fill("deliver", needed)
    for name in names:
        topics.subscribe("deliver", group=name, mode="all")
        contestants.expand(name)
    topics.configure("drain", semantics=topics.PUB_SUB)
    contestants.fill("drain", BACKLOG)
    drains = [f"drain-{number}" for number in range(rounds + 1)]
    for name in drains:
        topics.subscribe("drain", group=name, mode="all")
    cursor, lazy = raw_cursor(), raw_cursor()
    lazy.execute("SET synchronous_commit = off")
    works: dict[str, Callable[[], object]] = {
        "raw": contestants.raw_loop("raw_deliveries", needed, taker=cursor, deleter=cursor),
        "lazy": contestants.raw_loop("raw_lazily", needed, taker=lazy, deleter=cursor),
        "separate": contestants.separate_cycle("separate"),
        "merged": contestants.merged_cycle("merged"),
    }
    settle()
    taken: dict[str, list[float]] = {name: [] for name in (*works, "drained")}
    for name in drains:  # the first round only warms up
        for contestant, seconds in take_turns(works, calls=calls, rounds=1).items():
            taken[contestant].append(seconds / BATCH)
        started = time.perf_counter()
        assert contestants.drain(name) == BACKLOG
        taken["drained"].append((time.perf_counter() - started) / BACKLOG)
    cursor.connection.close()
    lazy.connection.close()
    ratios = {name: [base / each for each, base in zip(values, taken["raw"])] for name, values in taken.items()}
    say(json.dumps({name: [round(1 / each) for each in values] for name, values in taken.items()}))
    return {
        "rate": {name: 1 / statistics.median(values[1:]) for name, values in taken.items()},
        "ratio": {name: statistics.median(values[1:]) for name, values in ratios.items()},
    }


def claiming() -> dict[str, Figures]:
    """A claim of one message, by how many records match beside the topic's own; acks are not counted.

    Microseconds, and the median of the rounds' own ratios: others may be at work on the machine for a part of the time.
    """
    from ccc_django import groups, topics

    rounds, calls = (5, 10) if QUICK else (41, 20)
    topics.configure("claim", semantics=topics.PUB_SUB, namespace="shop", task="order")
    contestants.fill("claim", (rounds + 1) * calls)
    counts = (0, *RECORDS)
    for count in counts:
        for scope in ({"topic": "claim"}, *RECORDS.get(count, [])):
            topics.subscribe(**scope, group=f"records-{count}", mode="all")
        contestants.expand(f"records-{count}")
    settle()
    taken: dict[Any, list[float]] = {count: [] for count in counts}
    for round_number in range(rounds + 1):
        for turn in range(len(counts)):
            count, seconds = counts[(round_number + turn) % len(counts)], []
            for _ in range(calls):
                started = time.perf_counter()
                claim = topics.claim("claim", group=f"records-{count}", worker="w", limit=1)
                seconds.append(time.perf_counter() - started)
                assert claim is not None
                groups.ack(claim)
            taken[count].append(statistics.median(seconds))
    say(json.dumps({count: [round(each * 1e6) for each in values] for count, values in taken.items()}))
    ratios = {count: [each / base for each, base in zip(taken[count], taken[0])] for count in counts}
    return {
        "claim": microseconds({count: statistics.median(values[1:]) for count, values in taken.items()}),
        "ratio": {count: statistics.median(values[1:]) for count, values in ratios.items()},
    }


def looking() -> dict[str, Figures]:
    """Microseconds of a look at the health of a long topic with fifty groups, beside a select by primary key."""
    from ccc_django import topics
    from ccc_django.models import GroupTopic
    from ccc_django.store.reading import head

    topics.configure("look", semantics=topics.PUB_SUB)
    contestants.fill("look", SIZE)
    names = [f"look-{number}" for number in range(SUBSCRIBED[-1])]
    for name in names:
        topics.subscribe("look", group=name, mode="all")
    settle()
    figures = {"nothing done, all groups at the same place": look("look", SIZE)}
    first = head() - SIZE
    for number, name in enumerate(names):
        GroupTopic.objects.filter(group__name=name).update(watermark=first + number)
    settle()
    figures["nearly nothing done, each group at another place"] = look("look", SIZE)
    for name in names:
        contestants.expand(name, most=6)
    settle()
    figures["12,000 deliveries of each group, none done"] = look("look", SIZE)
    for number, name in enumerate(names):
        topics.remove_group("look", name)
        topics.subscribe("look", group=f"at-the-end-{number}", mode="position", at=head() - 99 - number)
        if number % 2:
            contestants.expand(f"at-the-end-{number}")
    settle()
    return {"caught up but for 100 to 149, each group at another place": look("look", SIZE), **figures}


def look(topic: str, size: int) -> Figures:
    """What a look takes, as a whole and in the server, and what a select by primary key does."""
    from django.db import connection

    from benchmarks.clients import django_backend
    from benchmarks.reads import server_time
    from ccc_django import topics

    def by_key() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM ccc_messages WHERE position = %s", [size // 2])
            assert cursor.fetchall()

    def health() -> None:
        assert len(topics.health(topic)) == SUBSCRIBED[-1]

    works = {"by_key": by_key, "health": health}
    take_turns(works, calls=10, rounds=1)
    taken = microseconds(take_turns(works, calls=3 if QUICK else 10, rounds=ROUNDS))
    pid = django_backend()
    return taken | {f"{name}_server": server_time(work, pid) * 1e6 for name, work in works.items()}


def microseconds(taken: dict[Any, float]) -> Figures:
    """Seconds as people read them."""
    return {name: seconds * 1e6 for name, seconds in taken.items()}


def page(figures: dict[str, Any]) -> str:
    """The tables."""
    return "\n\n".join(
        [
            published(figures["publishing"]),
            delivered(figures["delivering"]),
            claimed(figures["claiming"]),
            looked(figures["looking"]),
        ]
    )


def published(figures: dict[int, Figures]) -> str:
    """By groups that have subscribed."""
    lines = [
        f"PostgreSQL, one process. Publishing to topics with shared groups and no workers, one commit each, in turns. Medians of {ROUNDS} rounds.",
        "",
        "| groups that have subscribed | one message µs | of none | a hundred messages µs | of none |",
        "| --- | --- | --- | --- | --- |",
    ]
    one, many = figures[1], figures[100]
    for count in SUBSCRIBED:
        each = f"{one[count]:,.0f} | {one[count] / one[0]:.2f} | {many[count]:,.0f} | {many[count] / many[0]:.2f}"
        lines.append(f"| {count} | {each} |")
    return "\n".join(lines)


def delivered(figures: dict[str, Figures]) -> str:
    """Beside the raw loop."""
    rates, ratios = figures["rate"], figures["ratio"]
    rows = {
        "raw loop, whose claim does not wait for the disk either": "lazy",
        "claim, and a separate ack": "separate",
        "ack merged into the next claim": "merged",
        f"the same, a backlog of {BACKLOG:,} from nothing: deliveries are made, too": "drained",
    }
    lines = [
        f"Shared delivery in batches of {BATCH}, in turns with a raw loop (take {BATCH} rows by `UPDATE … RETURNING id, payload` with `FOR UPDATE SKIP LOCKED`, commit, delete them, commit). Deliveries are there before, but for the last row. The ratio is the median of the rounds' own.",
        "",
        "| loop | messages a second | of the raw loop |",
        "| --- | --- | --- |",
        f"| raw loop | {rates['raw']:,.0f} | 1 |",
    ]
    for label, name in rows.items():
        lines.append(f"| {label} | {rates[name]:,.0f} | {ratios[name]:.2f} |")
    return "\n".join(lines)


def claimed(figures: dict[str, Figures]) -> str:
    """By records that match."""
    lines = [
        "A claim of one message (`topics.claim`) by a group whose subscription to the topic decides, with others beside it that match, too. The ratio is the median of the rounds' own.",
        "",
        "| others that match | claim µs | of none |",
        "| --- | --- | --- |",
    ]
    for count, taken in figures["claim"].items():
        lines.append(f"| {count} | {taken:,.0f} | {figures['ratio'][count]:.2f} |")
    return "\n".join(lines)


def looked(figures: dict[str, Figures]) -> str:
    """By what is open."""
    lines = [
        f"`topics.health` of a topic with {SIZE:,} messages and {SUBSCRIBED[-1]} groups, in turns with a select by primary key through the same connection of Django; and the processor time of both in the server.",
        "",
        "| state | health µs | select µs | ratio | server's processor µs | of the select's |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for state, each in figures.items():
        whole = f"{each['health']:,.0f} | {each['by_key']:,.0f} | {each['health'] / each['by_key']:.1f}×"
        server = f"{each['health_server']:,.0f} | {each['health_server'] / each['by_key_server']:.1f}×"
        lines.append(f"| {state} | {whole} | {server} |")
    return "\n".join(lines)
