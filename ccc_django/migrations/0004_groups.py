"""Groups: progress by partition, with room in its pages for the updates that it lives on."""

import uuid
from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import ccc_django.models.consumer_group
import ccc_django.models.fields

# Half the growth, measured: an update finds room on its own page, and dead rows are removed often.
STORAGE = "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1"


def make_room(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table in ("ccc_offsets", "ccc_consumer_groups"):
            schema_editor.execute(f"ALTER TABLE {table} SET ({STORAGE})")


class Migration(migrations.Migration):
    dependencies = [
        ("ccc_django", "0003_payload_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConsumerGroup",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("name", models.CharField(max_length=255, unique=True, verbose_name="name")),
                ("kind", models.CharField(default="ordered", max_length=20, verbose_name="kind")),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "active"), ("stopped", "stopped"), ("failed", "failed")],
                        default="active",
                        max_length=20,
                        verbose_name="status",
                    ),
                ),
                ("partition_by", models.JSONField(verbose_name="partition by")),
                ("handled_types", models.JSONField(verbose_name="handled types")),
                ("retry", models.JSONField(blank=True, default=dict, verbose_name="retry")),
                (
                    "most_partitions",
                    models.IntegerField(
                        default=100,
                        help_text="That one message may belong to, by its lists.",
                        verbose_name="most partitions",
                    ),
                ),
                (
                    "epoch",
                    models.IntegerField(default=ccc_django.models.consumer_group.first_epoch, verbose_name="epoch"),
                ),
                ("start", models.BigIntegerField(default=1, verbose_name="start")),
                ("begins_at", models.BigIntegerField(default=1, verbose_name="begins at")),
                ("watermark", models.BigIntegerField(default=0, verbose_name="watermark")),
                ("catch_up_to", models.BigIntegerField(default=0, verbose_name="catch up to")),
                ("catch_up_types", models.JSONField(blank=True, default=list, verbose_name="catch-up types")),
                ("marking_upto", models.BigIntegerField(default=0, verbose_name="marking up to")),
                ("marking_number", models.IntegerField(default=0, verbose_name="marking number")),
                ("marking_after", models.BigIntegerField(default=0, verbose_name="marking after")),
                ("error_context", models.TextField(blank=True, default="", verbose_name="error context")),
                ("retry_at", models.DateTimeField(blank=True, null=True, verbose_name="retry at")),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="created at"
                    ),
                ),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="updated at"
                    ),
                ),
            ],
            options={
                "verbose_name": "consumer group",
                "verbose_name_plural": "consumer groups",
                "db_table": "ccc_consumer_groups",
                "ordering": ("name",),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="OffsetKeyPair",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "group_id",
                        "key_pair",
                        "offset_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("group_id", models.BigIntegerField(verbose_name="group")),
                ("key_pair", ccc_django.models.fields.DigestField(verbose_name="key pair")),
                ("offset_id", models.BigIntegerField(verbose_name="offset")),
            ],
            options={
                "verbose_name": "value of a partition",
                "verbose_name_plural": "values of partitions",
                "db_table": "ccc_offset_key_pairs",
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="DeadLetter",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                (
                    "partition_id",
                    ccc_django.models.fields.DigestField(
                        default=uuid.UUID("00000000-0000-0000-0000-000000000000"), verbose_name="partition id"
                    ),
                ),
                ("partition_key", models.TextField(blank=True, default="", verbose_name="partition key")),
                ("position", models.BigIntegerField(verbose_name="position")),
                ("message_id", models.UUIDField(verbose_name="message id")),
                ("message_type", models.CharField(max_length=255, verbose_name="type")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "open"),
                            ("replaying", "replaying"),
                            ("coming", "coming"),
                            ("replayed", "replayed"),
                            ("discarded", "discarded"),
                        ],
                        default="open",
                        max_length=20,
                        verbose_name="status",
                    ),
                ),
                ("attempts", models.IntegerField(default=0, verbose_name="attempts")),
                (
                    "deliveries",
                    models.IntegerField(default=0, help_text="Since it was replayed.", verbose_name="deliveries"),
                ),
                ("error", models.TextField(blank=True, default="", verbose_name="error")),
                ("traceback", models.TextField(blank=True, default="", verbose_name="traceback")),
                ("decided_by", models.TextField(blank=True, default="", verbose_name="decided by")),
                ("reason", models.TextField(blank=True, default="", verbose_name="reason")),
                ("decided_at", models.DateTimeField(blank=True, null=True, verbose_name="decided at")),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="created at"
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dead_letters",
                        to="ccc_django.consumergroup",
                        verbose_name="group",
                    ),
                ),
            ],
            options={
                "verbose_name": "dead letter",
                "verbose_name_plural": "dead letters",
                "db_table": "ccc_dead_letters",
                "ordering": ("position", "id"),
                "base_manager_name": "objects",
                "indexes": [models.Index(fields=["group", "status", "position"], name="ccc_dead_letters_status")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group", "partition_id", "position"), name="ccc_dead_letters_message"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Offset",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("partition_id", ccc_django.models.fields.DigestField(verbose_name="partition id")),
                ("partition_key", models.TextField(verbose_name="partition key")),
                ("key_pairs", ccc_django.models.fields.DigestsField(verbose_name="key pairs")),
                ("last_position", models.BigIntegerField(verbose_name="last position")),
                ("next_position", models.BigIntegerField(blank=True, null=True, verbose_name="next position")),
                ("head_position", models.BigIntegerField(db_default=0, default=0, verbose_name="head position")),
                ("replay_until", models.BigIntegerField(db_default=0, default=0, verbose_name="replay until")),
                ("attempts", models.IntegerField(db_default=0, default=0, verbose_name="attempts")),
                ("error", models.TextField(blank=True, db_default="", default="", verbose_name="error")),
                ("blocked_until", models.DateTimeField(blank=True, null=True, verbose_name="blocked until")),
                ("claimed_by", models.TextField(blank=True, db_default="", default="", verbose_name="claimed by")),
                ("claimed_at", models.DateTimeField(blank=True, null=True, verbose_name="claimed at")),
                ("token", models.BigIntegerField(db_default=0, default=0, verbose_name="token")),
                ("replays", models.IntegerField(db_default=0, default=0, verbose_name="replays")),
                (
                    "group",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="offsets",
                        to="ccc_django.consumergroup",
                        verbose_name="group",
                    ),
                ),
            ],
            options={
                "verbose_name": "offset",
                "verbose_name_plural": "offsets",
                "db_table": "ccc_offsets",
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_position__isnull", False), ("blocked_until__isnull", True)),
                        fields=["group", "next_position", "id"],
                        name="ccc_offsets_ready",
                    ),
                    models.Index(
                        condition=models.Q(("next_position__isnull", False), ("blocked_until__isnull", False)),
                        fields=["group", "blocked_until"],
                        name="ccc_offsets_blocked",
                    ),
                    models.Index(
                        condition=models.Q(("next_position__isnull", False)),
                        fields=["group", "next_position"],
                        name="ccc_offsets_open",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("group", "partition_id"), name="ccc_offsets_partition")
                ],
            },
        ),
        migrations.RunPython(make_room, migrations.RunPython.noop),
    ]
