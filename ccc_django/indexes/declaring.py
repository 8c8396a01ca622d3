"""Declare: a field or a combination is indexed: new messages at once, old ones by building."""

from collections.abc import Iterable

from django.db import transaction

from ccc_django import db, declared, registry
from ccc_django.attributes import holds_objects
from ccc_django.conf import conf
from ccc_django.indexes import versions
from ccc_django.indexes.building import Progress, build
from ccc_django.models.payload_index import PayloadIndex, Status
from ccc_django.payload_index import PayloadIndex as Index
from ccc_django.sensitivity import left_out


def declare(
    kind: str,
    fields: Iterable[str],
    *,
    nulls: bool = False,
    complete: bool = True,
    progress: Progress | None = None,
) -> PayloadIndex:
    """Index a field (``payload``) or a combination (``payload_hash``): new messages at once, old ones now or later.

    Declared again, it goes on where it was. With ``complete=False`` old messages are left to indexes.build().
    """
    versions.refuse_transaction()
    index = Index.of(kind, fields, nulls=nulls)
    refuse_sensitive(index)
    refuse_objects(index)
    row = _declared(index)
    versions.open_index(row)
    if complete:
        build(row.name, progress=progress)
    return PayloadIndex.objects.get(pk=row.pk)


def refuse_sensitive(index: Index) -> None:
    """What is sensitive never shows in an index."""
    if types := left_out(index):
        raise ValueError(f"{', '.join(index.fields)} is sensitive in {', '.join(types)}: it is never indexed.")


def refuse_objects(index: Index) -> None:
    """An object is no value: a field inside of it may be."""
    for message_class in registry.message_classes():
        for name in index.fields:
            field = message_class.model_fields.get(name)
            if field and holds_objects(field.annotation):
                raise ValueError(f"{message_class.__name__}.{name} holds objects: name a field inside, as in {name}.id")


def _declared(index: Index) -> PayloadIndex:
    with transaction.atomic(using=conf.database):
        db.rows("lock_declarations")
        row = PayloadIndex.objects.filter(name=index.name).first() or PayloadIndex(name=index.name)
        if row.status in {Status.DROPPED, ""} or row.nulls != index.nulls:
            row.kind, row.fields, row.nulls = index.kind, list(index.fields), index.nulls
            row.status, row.version = Status.DECLARED, versions.next_version()
            row.save()
    declared.reload()
    return row
