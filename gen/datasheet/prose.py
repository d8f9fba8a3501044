"""Turns docstrings into HTML for a reader who has the hardware and not the project.

A reference to a part of the project in parentheses is left out; elsewhere its last name stays. A
sentence that begins with "With ``params.NAME``," stays if the parameter is set, one with "With
``params.NAME`` VALUE," if it has this value or, with VALUE "above 1", a larger one, and "Without"
says the contrary.
"""

import re
from typing import Any

from markupsafe import Markup, escape

ROLE = re.compile(r":[a-z]+:`~?([^`]*)`")
ASIDE = re.compile(r" \(:[a-z]+:`[^`]*`\)")
OWN = re.compile(r"(?:gen|hdl|sim|tests)\.[\w.]*\b(\w+)$")
OPTION = re.compile(r"\b(With|Without) ``params\.(\w+)``( above \d+| \w+)?,.*?\.(?= [A-Z]|$)")
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


def of_build(text: str, params: Any) -> str:
    """Return a paragraph without what is said of options that ``params`` do not have."""

    def stored(sentence: re.Match[str]) -> str:
        begins, name, word = sentence.groups()
        value = getattr(params, name)
        if word and word.startswith(" above "):
            holds = value > int(word.removeprefix(" above "))
        else:
            holds = str(value) == word.strip() if word else bool(value)
        return sentence[0].replace("params.", "") if holds == (begins == "With") else ""

    return " ".join(OPTION.sub(stored, text).split())


def sentence_about(name: str, text: str) -> str:
    """Return the first sentence that has a port of this name as code, or that of its group."""
    for code in (name, name.partition("_")[0]):
        for sentence in re.split(r"(?<=[.;]) ", text):
            if f"``{code}``" in sentence:
                return sentence.rstrip(";.")
    return ""


def to_html(text: str) -> Markup:
    """Return a paragraph as HTML: code in its own font, names of Python without their modules."""
    plain = ROLE.sub(lambda m: f"``{OWN.sub(last_name, m[1])}``", ASIDE.sub("", text))
    html, end = Markup(""), 0
    for match in CODE.finditer(plain):
        html += escape(plain[end : match.start()])
        html += Markup("<code>{}</code>").format((match[1] or match[2]).removeprefix("params."))
        end = match.end()
    return html + escape(plain[end:])


def last_name(path: re.Match[str]) -> str:
    """Return the last of the names in the path of a part of the project."""
    return path[1]
