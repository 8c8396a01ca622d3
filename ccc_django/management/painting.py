"""Painting: parts of a line become text that the output can show, in colours on a terminal if rich is installed."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.core.management.base import OutputWrapper

from ccc_django.extras import is_installed, require
from ccc_django.instrumentation.showing import HIDDEN

Part = tuple[str, str]  # a text, and its style in rich's words
Paint = Callable[[Iterable[Part]], str]

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # what somebody has put into a message must not move the cursor


def paint_for(out: OutputWrapper, options: Mapping[str, Any]) -> Paint:
    """How lines are painted for this output."""
    wants_colour = (out.isatty() or options["force_color"]) and not options["no_color"]
    if not wants_colour or not is_installed("rich"):
        return lambda parts: writable("".join(text for text, _ in parts), out)
    text = require("rich.text").Text
    console = require("rich.console").Console(force_terminal=True, soft_wrap=True, highlight=False)

    def paint(parts: Iterable[Part]) -> str:
        with console.capture() as captured:
            console.print(text.assemble(*((writable(each, out), style) for each, style in parts)), end="")
        return str(captured.get())

    return paint


def writable(text: str, out: Any) -> str:
    """A text without control characters, and with escapes for what the output's encoding does not have."""
    escaped = CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    encoding = encoding_of(out)
    return escaped.encode(encoding, "backslashreplace").decode(encoding)


def encoding_of(out: Any) -> str:
    """How an output writes characters down."""
    return getattr(out, "encoding", None) or "utf-8"


def payload_text(payload: Mapping[str, Any]) -> str:
    """A payload in a line, in the words in which --attribute looks for it; what is hidden has no quotes."""
    return " ".join(f"{name}={HIDDEN if value == HIDDEN else _json(value)}" for name, value in payload.items())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
