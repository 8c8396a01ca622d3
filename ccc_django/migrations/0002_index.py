"""The index: dictionaries that nothing waits for, and entries in the order in which they are looked up."""

from typing import Any

import django.db.models.functions.datetime
from django.db import migrations, models

import ccc_django.models.fields

# The dictionaries have no unique constraint, whatever the state below says: with one, an append would wait for
# another's open transaction that meets the same new value, and two could deadlock.
CREATE = {
    "postgresql": (
        "CREATE TABLE ccc_key_pairs (digest uuid NOT NULL, name text NOT NULL, value text NOT NULL)",
        "CREATE TABLE ccc_shapes (digest bigint NOT NULL, message_type varchar(255) NOT NULL, names jsonb NOT NULL)",
        (
            "CREATE TABLE ccc_message_key_pairs (key_pair uuid NOT NULL, shape bigint NOT NULL,"
            " position bigint NOT NULL, CONSTRAINT ccc_message_key_pairs_pkey PRIMARY KEY (key_pair, shape, position))"
        ),
    ),
    "sqlite": (
        "CREATE TABLE ccc_key_pairs (digest blob NOT NULL, name text NOT NULL, value text NOT NULL)",
        "CREATE TABLE ccc_shapes (digest bigint NOT NULL, message_type varchar(255) NOT NULL, names text NOT NULL)",
        (
            "CREATE TABLE ccc_message_key_pairs (key_pair blob NOT NULL, shape bigint NOT NULL,"
            " position bigint NOT NULL, PRIMARY KEY (key_pair, shape, position)) WITHOUT ROWID"
        ),
    ),
}
INDEXES = (
    "CREATE INDEX ccc_key_pairs_digest ON ccc_key_pairs (digest)",
    "CREATE INDEX ccc_shapes_digest ON ccc_shapes (digest)",
    "CREATE INDEX ccc_shapes_type ON ccc_shapes (message_type)",
    "CREATE INDEX ccc_message_key_pairs_position ON ccc_message_key_pairs (position)",
)
DROP = ("DROP TABLE ccc_message_key_pairs", "DROP TABLE ccc_shapes", "DROP TABLE ccc_key_pairs")


def create(_apps: Any, schema_editor: Any) -> None:
    for statement in (*CREATE[schema_editor.connection.vendor], *INDEXES):
        schema_editor.execute(statement)


def drop(_apps: Any, schema_editor: Any) -> None:
    for statement in DROP:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("ccc_django", "0001_messages")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create, drop)],
            state_operations=[
                migrations.CreateModel(
                    name="KeyPair",
                    fields=[
                        (
                            "digest",
                            ccc_django.models.fields.DigestField(
                                primary_key=True, serialize=False, verbose_name="digest"
                            ),
                        ),
                        ("name", models.TextField(verbose_name="name")),
                        ("value", models.TextField(verbose_name="value")),
                    ],
                    options={
                        "verbose_name": "key pair",
                        "verbose_name_plural": "key pairs",
                        "db_table": "ccc_key_pairs",
                        "base_manager_name": "objects",
                    },
                ),
                migrations.CreateModel(
                    name="MessageKeyPair",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "key_pair",
                                "shape",
                                "position",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("key_pair", ccc_django.models.fields.DigestField(verbose_name="key pair")),
                        ("shape", models.BigIntegerField(verbose_name="shape")),
                        ("position", models.BigIntegerField(verbose_name="position")),
                    ],
                    options={
                        "verbose_name": "index entry",
                        "verbose_name_plural": "index entries",
                        "db_table": "ccc_message_key_pairs",
                        "base_manager_name": "objects",
                    },
                ),
                migrations.CreateModel(
                    name="Shape",
                    fields=[
                        (
                            "digest",
                            models.BigIntegerField(primary_key=True, serialize=False, verbose_name="digest"),
                        ),
                        ("message_type", models.CharField(max_length=255, verbose_name="type")),
                        ("names", models.JSONField(verbose_name="names")),
                    ],
                    options={
                        "verbose_name": "shape",
                        "verbose_name_plural": "shapes",
                        "db_table": "ccc_shapes",
                        "base_manager_name": "objects",
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="ScheduledMessage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("due_at", models.DateTimeField(verbose_name="due at")),
                ("message_id", models.UUIDField(unique=True, verbose_name="message id")),
                ("message_type", models.CharField(max_length=255, verbose_name="type")),
                ("version", models.IntegerField(default=1, verbose_name="version")),
                ("topic", models.CharField(blank=True, default="", max_length=255, verbose_name="topic")),
                ("payload", models.JSONField(verbose_name="payload")),
                ("metadata", models.JSONField(verbose_name="metadata")),
                ("correlation_id", models.UUIDField(verbose_name="correlation id")),
                ("causation_id", models.UUIDField(verbose_name="causation id")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("key_pairs", models.JSONField(verbose_name="key pairs")),
                (
                    "scheduled_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="scheduled at"
                    ),
                ),
            ],
            options={
                "verbose_name": "scheduled message",
                "verbose_name_plural": "scheduled messages",
                "db_table": "ccc_scheduled_messages",
                "ordering": ("due_at", "id"),
                "base_manager_name": "objects",
                "indexes": [models.Index(fields=["due_at", "id"], name="ccc_scheduled_due")],
            },
        ),
    ]
