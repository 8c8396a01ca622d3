"""Settings are flat, documented, and read when they are used."""

import subprocess
import sys
from pathlib import Path

from ccc_django.conf import Conf, Setting, conf

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def test_settings_are_read_when_they_are_used(settings):
    assert conf.database == "default"
    settings.CCC_DATABASE = "log"
    assert conf.database == "log"
    del settings.CCC_DATABASE
    assert conf.database == "default"


def test_every_setting_is_documented_with_its_default():
    text = REFERENCE.read_text()
    for setting in vars(Conf).values():
        if isinstance(setting, Setting):
            assert f"| `{setting.name}` | `{setting.default!r}` |".replace("'", '"') in text


def test_values_work_where_there_is_no_django():
    """As on a Spark executor: Django is not even importable."""
    program = (
        "import sys; sys.modules['django'] = None; sys.modules['django.conf'] = None\n"
        "from ccc_django import Event, key_pair_id\n"
        "class Rang(Event, type='rang'):\n    bell: str\n"
        "print(Rang(bell='door').key_pairs[0].id == key_pair_id('bell', 'door'))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout == "True\n", run.stderr


def test_values_work_where_no_project_is_set_up():
    program = (
        "import os; os.environ.pop('DJANGO_SETTINGS_MODULE', None)\n"
        "from ccc_django import Event\n"
        "class Rang(Event, type='rang'):\n    bell: str\n"
        "print(Rang(bell='door').payload_json)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout == '{"bell":"door"}\n', run.stderr
