"""Topics: channels, subscriptions, and what shared groups have still to do."""

import uuid
from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import ccc_django.models.fields

# As offsets: rows that come and go all the time.
STORAGE = "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1"


def make_room(_apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table in ("ccc_deliveries", "ccc_group_topics"):
            schema_editor.execute(f"ALTER TABLE {table} SET ({STORAGE})")


class Migration(migrations.Migration):
    dependencies = [
        ("ccc_django", "0006_scheduled_traces"),
    ]

    operations = [
        migrations.AddField(
            model_name="consumergroup",
            name="topics",
            field=models.JSONField(blank=True, null=True, verbose_name="topics"),
        ),
        migrations.AlterField(
            model_name="consumergroup",
            name="kind",
            field=models.CharField(
                choices=[("ordered", "ordered"), ("shared", "shared")],
                default="ordered",
                max_length=20,
                verbose_name="kind",
            ),
        ),
        migrations.CreateModel(
            name="Topic",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("name", models.CharField(max_length=255, unique=True, verbose_name="name")),
                (
                    "semantics",
                    models.CharField(
                        choices=[("QUEUE", "queue"), ("PUB_SUB", "publish/subscribe")],
                        default="QUEUE",
                        max_length=20,
                        verbose_name="semantics",
                    ),
                ),
                ("namespace", models.CharField(blank=True, default="", max_length=255, verbose_name="namespace")),
                ("task", models.CharField(blank=True, default="", max_length=255, verbose_name="task")),
                ("group_name", models.CharField(blank=True, default="", max_length=255, verbose_name="group")),
                ("retention", models.DurationField(blank=True, null=True, verbose_name="retention")),
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
                "verbose_name": "topic",
                "verbose_name_plural": "topics",
                "db_table": "ccc_topics",
                "ordering": ("name",),
                "base_manager_name": "objects",
                "indexes": [models.Index(fields=["namespace", "task"], name="ccc_topics_namespace")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("semantics__in", ["QUEUE", "PUB_SUB"])), name="ccc_topics_semantics"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TopicSubscription",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("group_name", models.CharField(max_length=255, verbose_name="group")),
                ("topic", models.CharField(blank=True, default="", max_length=255, verbose_name="topic")),
                ("namespace", models.CharField(blank=True, default="", max_length=255, verbose_name="namespace")),
                ("task", models.CharField(blank=True, default="", max_length=255, verbose_name="task")),
                (
                    "partition_id",
                    ccc_django.models.fields.DigestField(
                        default=uuid.UUID("00000000-0000-0000-0000-000000000000"), verbose_name="partition id"
                    ),
                ),
                ("partition_key", models.TextField(blank=True, default="", verbose_name="partition key")),
                (
                    "mode",
                    models.CharField(
                        choices=[("all", "all"), ("new", "new"), ("timestamp", "timestamp"), ("position", "position")],
                        max_length=20,
                        verbose_name="mode",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("ACTIVE", "active"),
                            ("PAUSED", "paused"),
                            ("CANCELLED", "cancelled"),
                            ("DEAD", "dead"),
                        ],
                        default="ACTIVE",
                        max_length=20,
                        verbose_name="status",
                    ),
                ),
                (
                    "subscribed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="subscribed at"
                    ),
                ),
                (
                    "last_active_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="last active at"
                    ),
                ),
                ("start_position", models.BigIntegerField(verbose_name="start position")),
                ("start_at", models.DateTimeField(blank=True, null=True, verbose_name="start at")),
                (
                    "heartbeat_interval",
                    models.IntegerField(default=60, help_text="Seconds.", verbose_name="heartbeat interval"),
                ),
                (
                    "heartbeat_timeout",
                    models.IntegerField(default=300, help_text="Seconds.", verbose_name="heartbeat time-out"),
                ),
                ("last_heartbeat_at", models.DateTimeField(blank=True, null=True, verbose_name="last heartbeat at")),
            ],
            options={
                "verbose_name": "topic subscription",
                "verbose_name_plural": "topic subscriptions",
                "db_table": "ccc_topic_subscriptions",
                "ordering": ("group_name", "topic", "namespace", "task", "id"),
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["topic", "group_name"], name="ccc_topic_subscriptions_topic"),
                    models.Index(
                        condition=models.Q(("last_heartbeat_at__isnull", False), ("status", "ACTIVE")),
                        fields=["last_heartbeat_at"],
                        name="ccc_topic_subscriptions_beaten",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group_name", "topic", "namespace", "task", "partition_id"),
                        name="ccc_topic_subscriptions_scope",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ["all", "new", "timestamp", "position"])),
                        name="ccc_topic_subscriptions_mode",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["ACTIVE", "PAUSED", "CANCELLED", "DEAD"])),
                        name="ccc_topic_subscriptions_status",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("start_position__gte", 1)), name="ccc_topic_subscriptions_start_position"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("heartbeat_interval__gt", 0), ("heartbeat_timeout__gte", models.F("heartbeat_interval"))
                        ),
                        name="ccc_topic_subscriptions_heartbeat",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("namespace", ""), ("task", ""), models.Q(("topic", ""), _negated=True)),
                            models.Q(
                                ("partition_key", ""),
                                ("topic", ""),
                                models.Q(("namespace", ""), ("task", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="ccc_topic_subscriptions_one_scope",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupTopic",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("topic", models.CharField(max_length=255, verbose_name="topic")),
                ("start", models.BigIntegerField(verbose_name="start")),
                ("watermark", models.BigIntegerField(verbose_name="watermark")),
                ("is_touched", models.BooleanField(db_default=False, default=False, verbose_name="touched")),
                ("processed", models.BigIntegerField(db_default=0, default=0, verbose_name="processed")),
                (
                    "group",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="places",
                        to="ccc_django.consumergroup",
                        verbose_name="group",
                    ),
                ),
                (
                    "subscription",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="places",
                        to="ccc_django.topicsubscription",
                        verbose_name="subscription",
                    ),
                ),
            ],
            options={
                "verbose_name": "topic of a group",
                "verbose_name_plural": "topics of groups",
                "db_table": "ccc_group_topics",
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "group_topic_id", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.BigIntegerField(verbose_name="position")),
                ("attempts", models.IntegerField(db_default=0, default=0, verbose_name="attempts")),
                ("again", models.BooleanField(db_default=False, default=False, verbose_name="again")),
                ("error", models.TextField(blank=True, db_default="", default="", verbose_name="error")),
                ("blocked_until", models.DateTimeField(blank=True, null=True, verbose_name="blocked until")),
                ("claimed_by", models.TextField(blank=True, db_default="", default="", verbose_name="claimed by")),
                ("claimed_at", models.DateTimeField(blank=True, null=True, verbose_name="claimed at")),
                ("token", models.BigIntegerField(db_default=0, default=0, verbose_name="token")),
                (
                    "group_topic",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="deliveries",
                        to="ccc_django.grouptopic",
                        verbose_name="topic of a group",
                    ),
                ),
            ],
            options={
                "verbose_name": "delivery",
                "verbose_name_plural": "deliveries",
                "db_table": "ccc_deliveries",
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(
                        condition=models.Q(("blocked_until__isnull", True)),
                        fields=["group_topic", "position"],
                        name="ccc_deliveries_ready",
                    ),
                    models.Index(
                        condition=models.Q(("blocked_until__isnull", False)),
                        fields=["group_topic", "blocked_until"],
                        name="ccc_deliveries_blocked",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="grouptopic",
            index=models.Index(fields=["topic"], name="ccc_group_topics_by_topic"),
        ),
        migrations.AddConstraint(
            model_name="grouptopic",
            constraint=models.UniqueConstraint(fields=("group", "topic"), name="ccc_group_topics_topic"),
        ),
        migrations.RunPython(make_room, migrations.RunPython.noop),
    ]
