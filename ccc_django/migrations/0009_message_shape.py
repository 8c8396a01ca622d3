"""Messages know their shape, so that whoever reads the log in bulk knows what it carries without its index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ccc_django", "0008_retention"),
    ]

    operations = [
        migrations.AddField(
            model_name="storedmessage",
            name="shape",
            field=models.BigIntegerField(
                help_text="Which attributes it carries; unknown where it is older than this column.",
                null=True,
                verbose_name="shape",
            ),
        ),
    ]
