"""Finds what a source says of the members of a class in comments that begin with ``#:``."""

import inspect
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any


def comment_of(name: str, source: str) -> str:
    """Return the comment of field or member ``name``: behind it, or in the lines before it."""
    behind = rf"^    {name}(?::| =).*#: (.*)$"
    result = re.search(rf"{behind}|((?:^    #: .*\n)+)    {name}(?::| =) ", source, re.M)
    lines = (result[1] or result[2]).splitlines() if result else []
    return " ".join(line.strip().removeprefix("#: ") for line in lines)


def meanings(enum: type[Enum]) -> dict[Any, str]:
    """Return what the comment of each member of ``enum`` says, where it has one."""
    source = inspect.getsource(enum)
    said = {member: comment_of(member.name, source) for member in enum}
    return {member: text for member, text in said.items() if text}


def by_name(texts: Mapping[Any, str]) -> dict[str, str]:
    """Return texts by the names of members, without marks, for messages."""
    return {member.name: plain(text) for member, text in texts.items()}


def plain(text: str) -> str:
    """Return a text without the marks of names, for a message."""
    return text.replace("`", "")
