"""How the documentation is built."""

from ccc_django import __version__

project = "ccc_django"
version = release = __version__
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"ccc_django {version}"
exclude_patterns = ["_build", "benchmarks/*.md"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
