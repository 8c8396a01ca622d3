from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ccc_django", "0005_consumers")]

    operations = [
        migrations.AddIndex(
            model_name="scheduledmessage",
            index=models.Index(fields=["correlation_id"], name="ccc_scheduled_correlation"),
        ),
    ]
