"""Retention: how long topics keep messages, who holds them back, what was lost; backfills; sessions."""

from typing import Any

from django.db import migrations, models
from django.db.models.functions import Now


def notice_the_dead(apps: Any, schema_editor: Any) -> None:
    """Their grace begins now."""
    subscriptions = apps.get_model("ccc_django", "TopicSubscription").objects
    subscriptions.using(schema_editor.connection.alias).filter(status="DEAD").update(died_at=Now())


class Migration(migrations.Migration):
    dependencies = [
        ("ccc_django", "0007_topics"),
    ]

    operations = [
        migrations.AddField(
            model_name="consumergroup",
            name="evolved_types",
            field=models.JSONField(blank=True, default=list, verbose_name="evolved types"),
        ),
        migrations.AddField(
            model_name="consumergroup",
            name="holds",
            field=models.BooleanField(
                db_default=True, default=True, help_text="Keeps messages back.", verbose_name="holds"
            ),
        ),
        migrations.AddField(
            model_name="consumergroup",
            name="is_session",
            field=models.BooleanField(db_default=False, default=False, verbose_name="session"),
        ),
        migrations.AddField(
            model_name="grouptopic",
            name="backfill_rate",
            field=models.FloatField(
                blank=True, help_text="Messages a second.", null=True, verbose_name="backfill rate"
            ),
        ),
        migrations.AddField(
            model_name="grouptopic",
            name="backfill_upto",
            field=models.BigIntegerField(db_default=0, default=0, verbose_name="backfill up to"),
        ),
        migrations.AddField(
            model_name="grouptopic",
            name="backfilled_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="backfilled at"),
        ),
        migrations.AddField(
            model_name="grouptopic",
            name="lost_from",
            field=models.BigIntegerField(blank=True, null=True, verbose_name="lost from"),
        ),
        migrations.AddField(
            model_name="grouptopic",
            name="lost_to",
            field=models.BigIntegerField(blank=True, null=True, verbose_name="lost to"),
        ),
        migrations.AddField(
            model_name="grouptopic",
            name="lost_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="lost at"),
        ),
        migrations.AddField(
            model_name="topic",
            name="keep_partial",
            field=models.DurationField(blank=True, null=True, verbose_name="keep partial messages"),
        ),
        migrations.AddField(
            model_name="topic",
            name="pruned",
            field=models.BigIntegerField(db_default=0, default=0, verbose_name="pruned"),
        ),
        migrations.AddField(
            model_name="topic",
            name="pruned_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="pruned at"),
        ),
        migrations.AddField(
            model_name="topic",
            name="pruned_upto",
            field=models.BigIntegerField(db_default=0, default=0, verbose_name="pruned up to"),
        ),
        migrations.AddField(
            model_name="topic",
            name="unsubscribed_retention",
            field=models.DurationField(blank=True, null=True, verbose_name="retention without subscribers"),
        ),
        migrations.AddField(
            model_name="topicsubscription",
            name="died_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="died at"),
        ),
        migrations.AddIndex(
            model_name="deadletter",
            index=models.Index(fields=["position"], name="ccc_dead_letters_position"),
        ),
        migrations.RunPython(notice_the_dead, migrations.RunPython.noop),
    ]
