"""Payload indexes: what is indexed beyond the attributes that classes declare."""

from typing import Any

import django.db.models.functions.datetime
from django.db import migrations, models


def create_opened(_apps: Any, schema_editor: Any) -> None:
    """A number that every transaction sees at once, whatever its snapshot: it grows when an index opens."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("CREATE SEQUENCE ccc_payload_indexes_opened")
        schema_editor.execute("SELECT setval('ccc_payload_indexes_opened', 1)")


def drop_opened(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP SEQUENCE ccc_payload_indexes_opened")


class Migration(migrations.Migration):
    dependencies = [("ccc_django", "0002_index")]

    operations = [
        migrations.CreateModel(
            name="PayloadIndex",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("name", models.TextField(unique=True, verbose_name="name")),
                ("kind", models.CharField(max_length=20, verbose_name="kind")),
                ("fields", models.JSONField(verbose_name="fields")),
                ("nulls", models.BooleanField(default=False, verbose_name="nulls")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("declared", "declared"),
                            ("building", "building"),
                            ("ready", "ready"),
                            ("dropped", "dropped"),
                        ],
                        max_length=20,
                        verbose_name="status",
                    ),
                ),
                ("version", models.BigIntegerField(unique=True, verbose_name="version")),
                ("built_upto", models.BigIntegerField(default=0, verbose_name="built up to")),
                ("upto", models.BigIntegerField(default=0, verbose_name="up to")),
                (
                    "declared_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="declared at"
                    ),
                ),
            ],
            options={
                "verbose_name": "payload index",
                "verbose_name_plural": "payload indexes",
                "db_table": "ccc_payload_indexes",
                "ordering": ("id",),
                "base_manager_name": "objects",
            },
        ),
        migrations.RunPython(create_opened, drop_opened),
    ]
