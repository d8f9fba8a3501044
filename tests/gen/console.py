"""What a command prints, for comparisons."""

import re


def without_progress(text: str) -> str:
    """Return ``text`` but for the lines that tell that a command still works.

    Without a terminal they begin .3 s after the start of what takes long, and so, for most
    commands, on slow machines only.
    """
    return re.sub(r"^.* \.\.\. \d+ s\n", "", text, flags=re.MULTILINE)
