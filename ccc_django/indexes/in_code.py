"""In code: indexes that message classes and the apps' ccc_indexes.py declare, and filters that rely on indexes.

    INDEXES = [("payload", ["account_id"]), ("payload_hash", ["flight_id", "seat_no"])]
    FILTERS = {"free seats": where(type=SeatReserved, flight_id="…", seat_no="…")}

They come into the database with ``migrate``.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from django.apps import apps
from django.db import connections
from django.utils.module_loading import module_has_submodule

from ccc_django import registry
from ccc_django.conf import conf
from ccc_django.errors import IndexNotReady
from ccc_django.filters import Filter
from ccc_django.indexes.declaring import declare
from ccc_django.models import StoredMessage
from ccc_django.models.payload_index import PayloadIndex, Status
from ccc_django.payload_index import PAYLOAD, PAYLOAD_HASH
from ccc_django.payload_index import PayloadIndex as Index

MODULE = "ccc_indexes"
AT_ONCE = 10_000  # messages that migrate builds by itself; more is for manage.py ccc_indexes build


def declared() -> dict[Index, str]:
    """Every index that code declares, with who does."""
    found: dict[str, tuple[Index, str]] = {}
    for index, source in _said():
        known, sources = found.get(index.name, (index, ""))
        nulls = known.nulls or index.nulls
        found[index.name] = (index._replace(nulls=nulls), f"{sources}, {source}" if sources else source)
    return dict(found.values())


def _said() -> Iterator[tuple[Index, str]]:
    for module in _modules():
        for kind, fields, *options in getattr(module, "INDEXES", ()):
            yield Index.of(kind, fields, **(options[0] if options else {})), module.__name__
    for message_class in registry.message_classes():
        for fields in message_class.indexes:
            names = [fields] if isinstance(fields, str) else fields
            yield Index.of(PAYLOAD if len(names) == 1 else PAYLOAD_HASH, names), message_class.__qualname__


def filters() -> dict[str, Filter]:
    """Every filter that code declares, by name."""
    return {name: filter for module in _modules() for name, filter in getattr(module, "FILTERS", {}).items()}


def sync() -> list[PayloadIndex]:
    """Declare in the database what code declares; short logs are indexed at once. Those that are left to build."""
    known = {row.name: row for row in PayloadIndex.objects.exclude(status=Status.DROPPED)}
    for index in declared():
        row = known.get(index.name)
        if row is None or row.status != Status.READY or (index.nulls and not row.nulls):
            nulls = index.nulls or bool(row and row.nulls)
            row = declare(index.kind, index.fields, nulls=nulls, complete=False)
            if _is_short(row):
                declare(index.kind, index.fields, nulls=nulls)
    return list(PayloadIndex.objects.filter(status__in=[Status.DECLARED, Status.BUILDING]))


def _is_short(row: PayloadIndex) -> bool:
    left = StoredMessage.objects.after(row.built_upto).upto(row.upto)
    return left[: AT_ONCE + 1].count() <= AT_ONCE


def sync_after_migrate(*, using: str, verbosity: int = 1, stdout: Any = sys.stdout, **_: Any) -> None:
    """What Django calls after migrate."""
    table = PayloadIndex._meta.db_table  # noqa: SLF001 - Django's documented interface
    if using != conf.database or table not in connections[using].introspection.table_names():
        return
    try:
        left = ", ".join(map(str, sync()))
    except IndexNotReady as problem:
        left = str(problem)
    if left and verbosity:
        stdout.write(f"  Indexes to build: {left}. Run manage.py ccc_indexes build.\n")


def _modules() -> list[ModuleType]:
    configs = [config for config in apps.get_app_configs() if module_has_submodule(config.module, MODULE)]
    return [import_module(f"{config.name}.{MODULE}") for config in configs]
