"""Groups: claiming, advancing and consuming, against the seed's own SQL, raw loops and plain inserts, on both databases."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks import groups_contestants as contestants
from benchmarks.measuring import publish, say, take_turns

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
SIZES = (1_000, 5_000, 20_000) if QUICK else (1_000, 100_000, 1_000_000)
SEED_SIZE = 5_000 if QUICK else 100_000
BACKING_OFF = 1_000 if QUICK else 20_000
SNAPSHOT_AGE = 3.0 if QUICK else 60.0
CALLS, ROUNDS = (20, 5) if QUICK else (40, 11)  # twice as many cycles must fit into the smallest size

Figures = dict[str, float]


def main() -> None:
    """Measure and publish."""
    postgres = measure()
    with tempfile.TemporaryDirectory() as folder:
        here = {"DJANGO_SETTINGS_MODULE": "benchmarks.sqlite_settings", "CCC_BENCH_SQLITE": f"{folder}/log.sqlite3"}
        command = [sys.executable, "-m", "benchmarks.groups"]
        output = subprocess.run(command, env=os.environ | here, stdout=subprocess.PIPE, text=True, check=True).stdout
    publish("groups", "Consumer groups", page({"PostgreSQL": postgres, "SQLite": json.loads(output)}))


def measure() -> dict[str, Any]:
    """Every figure, in microseconds, on the database of the settings."""
    from django.core.management import call_command

    from ccc_django import groups

    call_command("migrate", verbosity=0)
    figures: dict[str, Any] = {"cycle": {}, "advance": {}, "batches": batches()}
    groups.register("g", partition_by=contestants.NAMES, handled_types=contestants.HANDLED)
    groups.seek("g", to="end")
    filled = 0
    for size in SIZES:
        contestants.fill("g", filled, size)
        filled = size
        settle()
        figures["cycle"][size] = cycles(size)
        figures["advance"][size] = advancing(size)
        say(f"{size:,}: {figures['cycle'][size]} {figures['advance'][size]}")
    figures["seed"] = against_the_seed()
    figures["in_front"] = with_partitions_backing_off()
    if not on_sqlite():
        figures["snapshot"] = with_an_old_snapshot()
    figures["idle"] = idle()
    say(json.dumps(figures))
    return figures


def on_sqlite() -> bool:
    """Which database this is."""
    from django.db import connection

    return connection.vendor == "sqlite"


def raw_cursor() -> Any:
    """A cursor of the driver itself, which commits every statement and prepares those that repeat."""
    from django.db import connection

    connection.ensure_connection()
    if on_sqlite():
        import sqlite3

        raw = sqlite3.connect(os.environ["CCC_BENCH_SQLITE"], isolation_level=None)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        return raw.cursor()
    import psycopg

    keys = ("host", "port", "user", "password", "dbname")
    given = {key: value for key, value in connection.get_connection_params().items() if key in keys}
    return psycopg.connect(**given, autocommit=True, prepare_threshold=0).cursor()


def settle() -> None:
    """What autovacuum would have done by then."""
    cursor = raw_cursor()
    cursor.execute("ANALYZE" if on_sqlite() else "VACUUM ANALYZE")
    cursor.connection.close()


def microseconds(works: dict[str, Callable[[], object]]) -> Figures:
    """The median time of a call of each, in turns."""
    return {name: taken * 1e6 for name, taken in take_turns(works, calls=CALLS, rounds=ROUNDS).items()}


def cycles(size: int) -> Figures:
    """Claim, fetch and ack of one ready partition."""
    cursor = raw_cursor()
    raw = contestants.raw_loop(cursor, size)
    merged = contestants.merged_cycle("g")
    taken = microseconds({"raw": raw, "ours": lambda: contestants.cycle("g"), "merged": merged})
    from ccc_django.models import Offset

    Offset.objects.exclude(claimed_by="").update(claimed_by="", token=0, blocked_until=None, next_position=None)
    refill()
    return taken


def refill() -> None:
    """The partitions that were consumed have open work again."""
    from ccc_django import groups, store
    from ccc_django.models import Offset

    done = Offset.objects.filter(next_position=None).values_list("partition_key", flat=True)
    messages = [contestants.Joined(**json.loads(key)) for key in done]
    if messages:
        store.append(messages)
    while groups.advance("g"):
        pass


def advancing(size: int) -> Figures:
    """Microseconds a message that makes its partition, that finds it, and a partition that is woken; in turns with plain inserts."""
    from ccc_django import groups, store

    cursor, rounds, batch = raw_cursor(), 3 if QUICK else 7, 2_000
    twin = Twin(cursor, size)
    taken: dict[str, list[float]] = {"creates": [], "finds": [], "wakes": [], "insert": [], "upsert": []}
    for _ in range(rounds):
        fresh = [contestants.joined(twin.next_number + n) for n in range(batch)]
        known = [contestants.joined(twin.next_number + n) for n in range(batch)]
        courses = sorted({message.course_name for message in fresh})[:100]
        closed = [contestants.Closed(course_name=name) for name in courses]
        for name, messages, count in (
            ("creates", fresh, batch),
            ("finds", known, batch),
            ("wakes", closed, len(courses) * contestants.USERS),
        ):
            store.append(messages)
            started = time.perf_counter()
            while groups.advance("g"):
                pass
            taken[name].append((time.perf_counter() - started) / count * 1e6)
        taken["insert"].append(twin.insert(batch))
        taken["upsert"].append(twin.upsert(batch))
    twin.drop()
    return {name: statistics.median(values) for name, values in taken.items()}


class Twin:
    """A table like the offsets, of the same size, to which plain statements write the same offsets."""

    def __init__(self, cursor: Any, size: int) -> None:
        self.cursor, self.next_number, self.first = cursor, 10_000_000, 0
        cursor.execute("DROP TABLE IF EXISTS twin_offsets")
        if contestants.is_sqlite(cursor):
            [(text,)] = cursor.execute("SELECT sql FROM sqlite_master WHERE name = 'ccc_offsets'").fetchall()
            cursor.execute(text.replace("ccc_offsets", "twin_offsets", 1))
            for number, (index,) in enumerate(
                cursor.execute(
                    "SELECT sql FROM sqlite_master WHERE tbl_name = 'ccc_offsets' AND type = 'index' AND sql > ''"
                ).fetchall()
            ):
                cursor.execute(
                    index.replace('"ccc_offsets_', f'"twin_{number}_').replace('"ccc_offsets"', '"twin_offsets"')
                )
        else:
            cursor.execute("CREATE TABLE twin_offsets (LIKE ccc_offsets INCLUDING ALL) WITH (fillfactor = 70)")
        columns = "group_id, partition_id, partition_key, key_pairs, last_position, next_position, head_position"
        cursor.execute(f"INSERT INTO twin_offsets ({columns}) SELECT {columns} FROM ccc_offsets WHERE id <= {size}")
        cursor.execute("ANALYZE twin_offsets")
        self.columns = columns

    def insert(self, batch: int) -> float:
        """New offsets; microseconds each."""
        self.first = self.next_number
        self.next_number += batch
        return self._write(self.first, batch, low=1)

    def upsert(self, batch: int) -> float:
        """The same once more, with another position."""
        return self._write(self.first, batch, low=2)

    def _write(self, first: int, batch: int, low: int) -> float:
        from ccc_django.partitions import partition_of

        partitions = [partition_of(contestants.joined(first + n).payload) for n in range(batch)]
        rows = [(p.id, p.key, [pair.hex for pair in p.pairs]) for p in partitions]
        conflict = "ON CONFLICT (group_id, partition_id) DO UPDATE SET next_position = excluded.next_position, head_position = excluded.head_position"
        if contestants.is_sqlite(self.cursor):
            values = [(bytes.fromhex(id), key, json.dumps(pairs), low, low) for id, key, pairs in rows]
            started = time.perf_counter()
            self.cursor.execute("BEGIN IMMEDIATE")
            self.cursor.executemany(
                f"INSERT INTO twin_offsets ({self.columns}) VALUES (1, ?, ?, ?, 0, ?, ?) {conflict}", values
            )
            self.cursor.execute("COMMIT")
        else:
            from ccc_django.postgres import parameter

            columns = [
                [row[0] for row in rows],
                [row[1] for row in rows],
                ["{" + ",".join(row[2]) + "}" for row in rows],
            ]
            texts = [(parameter(column) or b"").decode() for column in columns]
            started = time.perf_counter()
            self.cursor.execute(
                f"""INSERT INTO twin_offsets ({self.columns})
                SELECT 1, new.id, new.key, new.pairs::uuid[], 0, {low}, {low}
                FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS new(id, key, pairs) {conflict}""",
                texts,
            )
        return (time.perf_counter() - started) / batch * 1e6

    def drop(self) -> None:
        """Leave nothing behind."""
        self.cursor.execute("DROP TABLE twin_offsets")
        self.cursor.connection.close()


def against_the_seed() -> Figures:
    """One cycle of ours and of the seed's statements, at a size that the seed can still take."""
    cursor = raw_cursor()
    seed = contestants.seed_cycle(cursor, SEED_SIZE)
    seed()
    taken = take_turns({"ours": lambda: contestants.cycle("g"), "seed": seed}, calls=1, rounds=5)
    cursor.connection.close()
    return {name: seconds * 1e6 for name, seconds in taken.items()}


def with_partitions_backing_off() -> Figures:
    """The same cycle with many partitions in front that pause."""
    from django.db.models.functions import Now

    from ccc_django.models import Offset

    before = microseconds({"ours": lambda: contestants.cycle("g")})["ours"]
    first = list(
        Offset.objects.filter(next_position__isnull=False)
        .order_by("next_position", "id")
        .values_list("pk", flat=True)[:BACKING_OFF]
    )
    from datetime import timedelta

    for start in range(0, len(first), 500):
        Offset.objects.filter(pk__in=first[start : start + 500]).update(blocked_until=Now() + timedelta(hours=9))
    after = microseconds({"ours": lambda: contestants.cycle("g")})["ours"]
    Offset.objects.filter(pk__in=first[:500]).update(blocked_until=None)
    return {"before": before, "after": after}


def with_an_old_snapshot() -> Figures:
    """The same cycle while a snapshot is open elsewhere, so that nothing that is done can be cleaned up."""
    refill()
    settle()
    before = microseconds({"ours": lambda: contestants.cycle("g")})["ours"]
    other = raw_cursor()
    other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    other.execute("SELECT count(*) FROM ccc_consumer_groups")
    started, count = time.monotonic(), 0
    while time.monotonic() - started < SNAPSHOT_AGE:
        contestants.cycle("g")
        count += 1
    after = microseconds({"ours": lambda: contestants.cycle("g")})["ours"]
    other.execute("ROLLBACK")
    other.connection.close()
    return {"before": before, "after": after, "cycles": count}


def idle() -> Figures:
    """A poll that finds nothing, against a select by primary key: server time on PostgreSQL, all of it on SQLite."""
    from ccc_django import groups

    groups.seek("g", to="end")
    while groups.advance("g"):
        pass
    settle()
    assert groups.claim_next("g", worker="w") is None

    def poll() -> None:
        assert groups.claim_next("g", worker="w") is None

    if on_sqlite():
        from django.db import connection

        connection.ensure_connection()

        def by_key() -> None:
            connection.connection.execute("SELECT * FROM ccc_messages WHERE position = 500").fetchall()

        return microseconds({"by_key": by_key, "poll": poll})
    from benchmarks.clients import django_backend
    from benchmarks.reads import db_by_key, server_time

    pid = django_backend()
    by_key, polls = [], []
    for _ in range(3):
        by_key.append(server_time(db_by_key(SIZES[-1]), pid))
        polls.append(server_time(poll, pid))
    return {"by_key": statistics.median(by_key) * 1e6, "poll": statistics.median(polls) * 1e6}


def batches() -> Figures:
    """Messages a second in batches of a hundred of one partition, by a raw loop too; and a hundred partitions of one."""
    from ccc_django import groups, store

    count = 2_000 if QUICK else 30_000
    names = ("one", "one-merged", "many")
    for name in names:
        groups.register(name, partition_by=contestants.NAMES, handled_types=contestants.HANDLED)
    for _ in range(0, count, 10_000):
        store.append([contestants.Joined(course_name="one", user_id="one") for _ in range(min(count, 10_000))])
    groups.seek("many", to="end")
    store.append([contestants.Joined(course_name=f"m{n}", user_id=f"m{n}") for n in range(1_000)])
    for name in names:
        while groups.advance(name):
            pass
    settle()
    cursor = raw_cursor()
    works = {
        "raw": contestants.raw_offset_loop(cursor, count * 4, 100),
        "ours": lambda: contestants.cycle("one"),
        "merged": contestants.merged_cycle("one-merged"),
    }
    taken = take_turns(works, calls=2 if QUICK else 10, rounds=3 if QUICK else 9)
    cursor.connection.close()
    single = take_turns({"many": contestants.merged_cycle("many")}, calls=100, rounds=3)
    for name in names:
        groups.delete(name)
    return {name: 100 / seconds for name, seconds in taken.items()} | {"many": 1 / single["many"]}


def page(by_database: dict[str, dict[str, Any]]) -> str:
    """The tables."""
    return "\n\n".join(section(name, figures) for name, figures in by_database.items())


def section(name: str, figures: dict[str, Any]) -> str:
    """The tables of one database."""
    cycle = {int(size): values for size, values in figures["cycle"].items()}
    advance = {int(size): values for size, values in figures["advance"].items()}
    smallest, largest = min(cycle), max(cycle)
    lines = [
        f"**{name}.** Claim, fetch and ack of one ready partition, in turns with a raw loop (claim one row by `UPDATE … RETURNING`, commit, mark it done, commit) over as many rows. Medians of {ROUNDS} rounds of {CALLS}.",
        "",
        "| partitions | raw µs | ours µs | of raw | ack merged into the next claim | of raw |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for size, each in cycle.items():
        lines.append(
            f"| {size:,} | {each['raw']:,.0f} | {each['ours']:,.0f} | {each['ours'] / each['raw']:.1f}× | {each['merged']:,.0f} | {each['merged'] / each['raw']:.1f}× |"
        )
    seed, front, idle_poll, batch = figures["seed"], figures["in_front"], figures["idle"], figures["batches"]
    lines += [
        "",
        "| measure | figure |",
        "| --- | --- |",
        f"| a cycle at {largest:,} partitions, of one at {smallest:,} | {cycle[largest]['ours'] / cycle[smallest]['ours']:.2f} |",
        f"| the seed's own claim and fetch SQL at {SEED_SIZE:,} partitions: a cycle, and ours beside it (at {largest:,}) | {seed['seed'] / 1e3:,.0f} ms, {seed['seed'] / seed['ours']:,.0f}× ours |",
        f"| a cycle with {BACKING_OFF:,} partitions in front that pause, of one without | {front['after'] / front['before']:.2f} |",
    ]
    if "snapshot" in figures:
        old = figures["snapshot"]
        lines.append(
            f"| a cycle with a snapshot open elsewhere for {SNAPSHOT_AGE:.0f} s ({old['cycles']:,.0f} cycles), of one without | {old['after'] / old['before']:.2f} |"
        )
    what = "server time" if name == "PostgreSQL" else "time"
    lines += [
        f"| idle poll at {largest:,} partitions, {what}, of a select by primary key ({idle_poll['by_key']:.0f} µs) | {idle_poll['poll'] / idle_poll['by_key']:.1f}× |",
        f"| messages in batches of 100 of one partition, of a raw offset loop ({batch['raw']:,.0f}/s) | {batch['ours'] / batch['raw']:.2f}; merged {batch['merged'] / batch['raw']:.2f} |",
        f"| messages of 100 partitions, one each | {batch['many']:,.0f}/s |",
        "",
        "Advance, µs, in turns with a plain `INSERT … ON CONFLICT` of the same offsets into a table like ours, 2,000 in a transaction.",
        "",
        "| partitions | a message that makes its partition | plain insert | a message that finds it | plain update | a woken partition |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for size, each in advance.items():
        lines.append(
            f"| {size:,} | {each['creates']:.0f} ({each['creates'] / each['insert']:.1f}×) | {each['insert']:.0f} | {each['finds']:.0f} ({each['finds'] / each['upsert']:.1f}×) | {each['upsert']:.0f} | {each['wakes']:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    import django

    django.setup()
    print(json.dumps(measure()))
