"""The admin in other projects: with a theme, with the log in a database of its own, and not at all."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import settings

ROOT = Path(__file__).parents[2]


def run(program: str, folder: Path) -> list[str]:
    """What a program prints that has a project of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


PROJECT = f"""
    import sys
    from django.conf import settings

    def sqlite(name):
        return dict(ENGINE="django.db.backends.sqlite3", NAME=f"{{sys.argv[1]}}/{{name}}",
                    OPTIONS=dict(transaction_mode="IMMEDIATE", timeout=20, init_command="PRAGMA journal_mode=WAL"))

    def configure(*apps):
        settings.configure(
            SECRET_KEY="tests only", USE_TZ=True, ALLOWED_HOSTS=["testserver"], STATIC_URL="static/",
            X_FRAME_OPTIONS="SAMEORIGIN", SILENCED_SYSTEM_CHECKS=["security.W019"],
            DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
            INSTALLED_APPS=[*apps, "django.contrib.contenttypes", "django.contrib.auth", "ccc_django"],
            MIDDLEWARE={settings.MIDDLEWARE!r}, TEMPLATES={settings.TEMPLATES!r}, ROOT_URLCONF="tests.urls",
            DATABASES=dict(default=sqlite("default"), log=sqlite("log")),
            CCC_DATABASE="log", DATABASE_ROUTERS=["ccc_django.router.LogRouter"],
        )
        import django
        django.setup()
        from django.core.management import call_command
        call_command("check", fail_level="WARNING")
        call_command("migrate", verbosity=0, skip_checks=True)
        call_command("migrate", database="log", app_label="ccc_django", verbosity=0, skip_checks=True)
"""

ADMIN = '"django.contrib.admin", "django.contrib.sessions", "django.contrib.messages"'

LOOK = """
    from django.contrib.auth.models import User
    from django.db import connections
    from django.test import Client
    from ccc_django import Event, Retry, groups, store, topics
    from ccc_django.models import ConsumerGroup, DeadLetter, Offset, Topic, TopicSubscription

    class Rang(Event, type="rang"):
        door: str

    groups.register("bells", partition_by="door", handled_types=[Rang], retry=Retry(max_attempts=1))
    store.append([Rang(door="front"), Rang(door="back")])
    groups.release(groups.claim_next("bells", worker="w"), error=ValueError("no"))
    topics.publish("repairs", Rang(door="side"))
    client = Client()
    client.force_login(User.objects.create_superuser("ann"))
    for model in (ConsumerGroup, Offset, DeadLetter, Topic, TopicSubscription):
        page = f"/admin/ccc_django/{model._meta.model_name}/"
        row = model.objects.first()
        print(client.get(page).status_code, client.get(f"{page}{row.pk}/change/").status_code)
    page, chosen = "/admin/ccc_django/consumergroup/", dict(action="stop", _selected_action=[1])
    asked = client.post(page, chosen)
    print(asked.status_code, groups.is_active("bells"))
    print(client.post(page, dict(chosen, confirmed="True", reason="")).status_code, groups.is_active("bells"))
    print("admin-interface" in asked.content.decode())
    print("ccc_consumer_groups" in connections["default"].introspection.table_names())
"""


@pytest.mark.parametrize("theme", ["", '"admin_interface", "colorfield", '], ids=["plain", "themed"])
def test_the_admin_shows_the_log_from_wherever_it_is_with_and_without_a_theme(theme, tmp_path):
    checks, *pages, asked, stopped, themed, in_default = run(
        f"{PROJECT}\n    configure({theme}{ADMIN})\n{LOOK}", tmp_path
    )
    assert "no issues" in checks
    assert pages == ["200 200"] * 5
    assert (asked, stopped) == ("200 True", "302 False")
    assert (themed, in_default) == (str(bool(theme)), "False")


def test_without_the_admin_nothing_of_it_is_imported(tmp_path):
    program = """
        import sys
        from django.conf import settings
        settings.configure(USE_TZ=True, INSTALLED_APPS=["ccc_django"])
        import django
        django.setup()
        from ccc_django import dead_letters, groups
        print([name for name in sys.modules if name.startswith(("django.contrib.admin", "ccc_django.admin"))])
    """
    assert run(program, tmp_path) == ["[]"]
