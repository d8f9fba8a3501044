"""What a user can do wrong ends in one line, not in a traceback."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_NAMES = 60  #: that a line may list


class UserError(Exception):
    """A mistake of the user's; the text is one line that says what would be right."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """There is no ``kind`` of that ``name``; the nearest there is, and all that a line can list."""
    names = list(known)
    listed = ", ".join(names[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES)
    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return UserError(f"no {kind} {name!r}; {hint}there are: {listed}")
