"""Turns docstrings into HTML."""

import re

from markupsafe import Markup, escape

ROLE = re.compile(r":(?:attr|class|mod|func|meth):`([^`]*)`")
CODE = re.compile(r"``([^`]*)``|`([^`]*)`")
TIMING = re.compile(r"\b(?=Throughput[^.:]*:)")


def paragraphs(docstring: str | None) -> list[str]:
    """Split a docstring into paragraphs, each of one line."""
    parts = re.split(r"\n\s*\n", (docstring or "").strip())
    return [" ".join(part.split()) for part in parts if part.strip()]


def function_and_timing(docstring: str | None) -> tuple[list[str], list[str]]:
    """Split what follows a docstring's first paragraph where ``Throughput:`` begins."""
    function, timing = [], []
    for paragraph in paragraphs(docstring)[1:]:
        before, *after = TIMING.split(paragraph, maxsplit=1)
        function += [before.strip()] if before.strip() else []
        timing += after
    return function, timing


def to_html(text: str) -> Markup:
    """Return a paragraph as HTML: code in its own font, names of Python without their modules."""
    plain = ROLE.sub(lambda m: f"``{m[1].lstrip('~')}``", text)
    html, end = Markup(""), 0
    for match in CODE.finditer(plain):
        html += escape(plain[end : match.start()])
        html += Markup("<code>{}</code>").format(match[1] or match[2])
        end = match.end()
    return html + escape(plain[end:])
