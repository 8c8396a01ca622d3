"""Checks: what would go wrong later is said at start, with what to do about it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own word
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router
from django.utils.translation import gettext as _

from ccc_django.compiling import compiled
from ccc_django.conf import conf
from ccc_django.errors import ExtraMissing, NotIndexed
from ccc_django.extras import require
from ccc_django.indexes import in_code
from ccc_django.limits import HealthLimits, health_limits
from ccc_django.models import StoredMessage

ENGINES = ("postgresql", "sqlite")
OLDEST_PSYCOPG = (3, 2)
TAG = "ccc_django"


@register(TAG)
def check_time_zone(**_options: Any) -> list[CheckMessage]:
    """Positions are stamped with aware times."""
    if settings.USE_TZ:
        return []
    return [
        Error(_("USE_TZ is False."), hint=_("Set USE_TZ = True: the log stores aware times."), id="ccc_django.E001")
    ]


@register(TAG)
def check_database(**_options: Any) -> list[CheckMessage]:
    """The log's database exists, is of a kind that we know, and is set up for us."""
    if conf.database not in connections.settings:
        message = _("CCC_DATABASE = “%s” is not in DATABASES.") % conf.database
        return [Error(message, hint=_("Name one of: %s") % ", ".join(connections.settings), id="ccc_django.E002")]
    return [*_check_router(), *_check_engine()]


@register(TAG, Tags.database)
def check_sequence(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """A session must not keep positions in reserve: they would be used after higher ones, unnoticed by head."""
    if conf.database not in (databases or ()) or connections[conf.database].vendor != "postgresql":
        return []
    with connections[conf.database].cursor() as cursor:
        cursor.execute("SELECT cache_size FROM pg_sequences WHERE sequencename = 'ccc_messages_position_seq'")
        sizes = [size for (size,) in cursor.fetchall()]
    if max(sizes, default=1) == 1:
        return []
    hint = "ALTER SEQUENCE ccc_messages_position_seq CACHE 1"
    return [Error(_("The sequence of positions has a cache: messages would be lost."), hint=hint, id="ccc_django.E007")]


@register(TAG)
def check_filters(**_options: Any) -> list[CheckMessage]:
    """Filters that code declares have the indexes that they need, declared in code too."""
    problems = []
    for name, filter in in_code.filters().items():
        try:
            compiled(filter, in_code.declared())
        except NotIndexed as missing:
            message = _("The filter “%(name)s” has no index: %(reason)s") % {"name": name, "reason": missing}
            hint = _("Add the index to INDEXES in the same ccc_indexes.py.")
            problems.append(Error(message, hint=hint, id="ccc_django.E008"))
    return [*problems]


@register(TAG)
def check_health_limits(**_options: Any) -> list[CheckMessage]:
    """Limits that nobody understands would be found when somebody looks whether all is well."""
    try:
        health_limits(conf.health)
    except ValueError as problem:
        hint = _("There are: %s") % ", ".join(HealthLimits.model_fields)
        return [Error(str(problem), hint=hint, id="ccc_django.E009")]
    return []


def _check_router() -> Iterator[CheckMessage]:
    written_to = router.db_for_write(StoredMessage)
    if written_to != conf.database or not router.allow_migrate_model(conf.database, StoredMessage):
        message = _("The log belongs into “%(wanted)s”, and the routers send it to “%(found)s”.")
        hint = _("Put “ccc_django.router.LogRouter” first in DATABASE_ROUTERS.")
        yield Error(message % {"wanted": conf.database, "found": written_to}, hint=hint, id="ccc_django.E003")


def _check_engine() -> Iterator[CheckMessage]:
    vendor = _vendor()
    if vendor not in ENGINES:
        message = _("The log cannot live in a database of the kind “%s”.") % vendor
        hint = _("Use PostgreSQL or SQLite, if need be beside your own database: see CCC_DATABASE.")
        yield Error(message, hint=hint, id="ccc_django.E005")
    elif vendor == "postgresql":
        yield from _check_psycopg()
    else:
        yield from _check_sqlite(connections.settings[conf.database])


def _vendor() -> str:
    try:
        return connections[conf.database].vendor
    except (ImproperlyConfigured, ImportError):  # its driver is not installed
        engine: str = connections.settings[conf.database]["ENGINE"]
        return engine.rpartition(".")[2]


def _check_psycopg() -> Iterator[CheckMessage]:
    try:
        psycopg = require("psycopg")
    except ExtraMissing as missing:
        yield Error(_("The log needs psycopg 3 in PostgreSQL."), hint=str(missing), id="ccc_django.E004")
        return
    if tuple(int(part) for part in re.findall(r"\d+", psycopg.__version__)[:2]) < OLDEST_PSYCOPG:
        message = _("psycopg %s is too old.") % psycopg.__version__
        hint = _('Run: pip install --upgrade "ccc-django[postgres]"')
        yield Error(message, hint=hint, id="ccc_django.E006")


def _check_sqlite(database: dict[str, Any]) -> Iterator[CheckMessage]:
    options = database.get("OPTIONS", {})
    if str(options.get("transaction_mode", "")).upper() not in {"IMMEDIATE", "EXCLUSIVE"}:
        hint = _('Add "transaction_mode": "IMMEDIATE" to the OPTIONS of this database.')
        message = _("SQLite transactions do not start as writers: concurrent appends fail with “database is locked”.")
        yield Warning(message, hint=hint, id="ccc_django.W001")
    if _is_file(database) and not re.search(
        r"journal_mode\s*=\s*wal", options.get("init_command") or "", re.IGNORECASE
    ):
        hint = _('Add "init_command": "PRAGMA journal_mode=WAL" to the OPTIONS of this database.')
        message = _("SQLite is not in WAL mode: readers and the writer wait for one another.")
        yield Warning(message, hint=hint, id="ccc_django.W002")


def _is_file(database: dict[str, Any]) -> bool:
    name = str(database.get("NAME", ""))
    return ":memory:" not in name and "mode=memory" not in name
