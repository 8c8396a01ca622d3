"""The documentation: its code runs, and it is complete."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import ccc_django
from ccc_django import CommandRejected, checks, errors, models, registry
from ccc_django.consumers import checking, declaring
from ccc_django.consumers import registry as consumers_registry
from ccc_django.testing import clear

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
WITH_CODE = [page for page in PAGES if "```python" in page.read_text() and "_build" not in page.parts]


def code_blocks(page: Path) -> list[str]:
    tokens = MarkdownIt().parse(page.read_text())
    return [token.content for token in tokens if token.type == "fence" and token.info == "python"]


@pytest.fixture
def registry_as_before(monkeypatch):
    """Each page declares the same courses again."""
    monkeypatch.setattr(registry, "_classes", {CommandRejected.type: CommandRejected})
    monkeypatch.setattr(consumers_registry, "_consumers", {})
    monkeypatch.setattr(declaring, "_declared", set())


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.django_db(transaction=True)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, registry_as_before, monkeypatch):
    clear()  # pages show positions
    monkeypatch.syspath_prepend(ROOT / "example_project")
    names = {"__name__": f"docs_{page.stem}"}
    for block in code_blocks(page):
        exec(compile(block, str(page), "exec"), names)


def test_there_is_code_to_run():
    assert len(WITH_CODE) >= 6


def test_every_error_is_documented():
    text = (ROOT / "docs/reference/errors.md").read_text()
    ours = [error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, errors.CCCError)]
    for error in ours:
        assert f"`{error.__name__}`" in text
        assert error.__name__ in errors.__doc__


def test_every_check_is_documented():
    text = (ROOT / "docs/reference/checks.md").read_text()
    modules = (Path(checks.__file__), Path(checking.__file__))
    ids = {id for module in modules for id in re.findall(r"ccc_django\.[EW]\d+", module.read_text())}
    assert ids == set(re.findall(r"ccc_django\.[EW]\d+", text))


def test_every_public_name_is_documented():
    text = "".join(page.read_text() for page in ROOT.glob("docs/reference/*.md"))
    for name in ccc_django.__all__:
        assert re.search(rf"`@?{name}\b", text), name


def test_every_model_is_documented_with_its_table():
    text = (ROOT / "docs/reference/models.md").read_text()
    for name in models.__all__:
        table = getattr(models, name)._meta.db_table
        assert f"| `{name}` | `{table}` |" in text
        assert table.startswith("ccc_")


def test_links_inside_the_readme_lead_somewhere():
    targets = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text())
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


MACHINE = r"/(?:root|home|Users|work)/|pypi\.org|files\.pythonhosted"


def test_the_project_speaks_of_itself_alone():
    """No paths of a machine, no hosts of registries."""
    for page in [*PAGES, ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / "CHANGELOG.md"]:
        assert not re.search(MACHINE, page.read_text()), page
