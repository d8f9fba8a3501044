"""Docstrings as HTML."""

import re

from markupsafe import Markup, escape

ROLE = re.compile(r":(?:attr|class|mod|func|meth):`([^`]*)`")
CODE = re.compile(r"``([^`]*)``|`([^`]*)`")
TIMING = re.compile(r"\b(?=Throughput[^.:]*:)")


def paragraphs(docstring: str | None) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    parts = re.split(r"\n\s*\n", (docstring or "").strip())
    return [" ".join(part.split()) for part in parts if part.strip()]


def function_and_timing(docstring: str | None) -> tuple[list[str], list[str]]:
    """What a docstring says below its first line: what it does, and from ``Throughput:`` on."""
    function, timing = [], []
    for paragraph in paragraphs(docstring)[1:]:
        before, *after = TIMING.split(paragraph, maxsplit=1)
        function += [before.strip()] if before.strip() else []
        timing += after
    return function, timing


def to_html(text: str) -> Markup:
    """A paragraph with its code in code's letters; names of Python's lose their modules."""
    plain = ROLE.sub(lambda m: f"``{m[1].lstrip('~')}``", text)
    html, end = Markup(""), 0
    for match in CODE.finditer(plain):
        html += escape(plain[end : match.start()])
        html += Markup("<code>{}</code>").format(match[1] or match[2])
        end = match.end()
    return html + escape(plain[end:])
