"""Ends users' mistakes in one line, not in a traceback."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_NAMES = 60  #: most names that a line may list
NEAREST = 4  #: most names that a line suggests


class UserError(Exception):
    """Reports a mistake of the user's; the text is one line that says what would be right."""


def unknown(kind: str, name: str, known: Iterable[str], command: str = "") -> UserError:
    """Make the error for a ``kind`` of unknown ``name``: it suggests the nearest and lists some.

    Where a ``command`` lists them, it suggests several and says so.
    """
    names = list(known)
    if command:
        nearest = ", ".join(get_close_matches(name, names, n=NEAREST, cutoff=0.5))
        hint = f"the nearest are {nearest}; " if nearest else ""
        return UserError(f"no {kind} {name!r}; {hint}`{command}` lists all {len(names)}")
    listed = ", ".join(names[:MAX_NAMES]) + ", ..." * (len(names) > MAX_NAMES)
    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return UserError(f"no {kind} {name!r}; {hint}there are: {listed}")
