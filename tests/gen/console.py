"""Prepares what a command prints for comparisons."""

import re


def without_progress(text: str) -> str:
    """Return ``text`` without the lines that report the progress of a command.

    Without a terminal a command prints them once a step takes longer than .3 s; most commands do
    that on slow machines only.
    """
    return re.sub(r"^.* \.\.\. \d+ s\n", "", text, flags=re.MULTILINE)
