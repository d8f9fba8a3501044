"""Implements ``ingather cache``, which shows what the cache holds and makes it smaller."""

import re
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from gen.base.errors import UserError
from sim.harness.cache import cache_root
from sim.harness.pruning import KINDS, Bounds, Entry, entries, prune, too_many

SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def cache(
    prune_it: Annotated[
        bool, typer.Option("--prune", help="Remove the entries that the other options choose.")
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(
            help="Choose entries that were last used longer ago than this: 90m, 12h, 30d, 4w."
        ),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option(
            help="Choose those unused for longest until the rest takes at most this: 500MB, 5GB."
        ),
    ] = None,
) -> None:
    """Show what the cache holds, by kind, size and age, and prune it.

    Everything in it is made again when it is needed. Without --prune, the command only shows what
    --older-than and --most would remove. Entries used within the last hour always stay.
    """
    bounds = Bounds(
        seconds=None if older_than is None else seconds_of(older_than),
        size=None if most is None else bytes_of(most),
    )
    if prune_it and bounds == Bounds():
        raise UserError("--prune needs --older-than or --most: --prune --older-than 30d")
    result, now = entries(), time.time()
    typer.echo(f"cache {cache_root()}")
    for line in table(result, now):
        typer.echo(line)
    if bounds == Bounds():
        return
    chosen = too_many(result, bounds, now)
    if not prune_it:
        typer.echo(f"--prune would remove {described(chosen)}")
        return
    stored = prune(chosen)
    typer.echo(f"removed {described([entry for entry in chosen if entry not in stored])}")
    if stored:
        typer.echo(f"kept {described(stored)}, in use by now")


def table(result: Sequence[Entry], now: float) -> list[str]:
    """Return a line for each kind that has entries, and one for all."""
    lines: list[str] = []
    for kind, about in [*KINDS.items(), ("", "all")]:
        own = [entry for entry in result if kind in ("", entry.kind)]
        if own or not kind:
            ages = sorted(now - entry.used for entry in own)
            age = f"last used {shown_time(ages[0])} to {shown_time(ages[-1])} ago" if ages else ""
            size = shown_size(sum(entry.size for entry in own))
            lines.append(f"{kind:13} {about:27} {len(own):6} {size:>9}  {age}".rstrip())
    return lines


def described(chosen: Sequence[Entry]) -> str:
    """Return in words how many entries there are, and their size."""
    count = f"{len(chosen)} {'entry' if len(chosen) == 1 else 'entries'}"
    return f"{count}, {shown_size(sum(entry.size for entry in chosen))}"


def shown_size(size: float) -> str:
    """Return a number of bytes in the unit that reads best."""
    letter = next(item for item in reversed(BYTES) if size >= BYTES[item] or not item)
    return f"{size / BYTES[letter]:.3g} {letter}B"


def shown_time(seconds: float) -> str:
    """Return a time in whole minutes, hours or days, whichever reads best."""
    unit = "d" if seconds >= 2 * SECONDS["d"] else "h" if seconds >= 2 * SECONDS["h"] else "m"
    return f"{max(seconds, 0) // SECONDS[unit]:.0f}{unit}"


def seconds_of(text: str) -> float:
    """Return the seconds of a text such as ``30d``; raise UserError for any other."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhdw])", text.strip())
    if match is None:
        raise UserError(f"--older-than is a number and m, h, d or w, such as 30d: {text!r}")
    return float(match[1]) * SECONDS[match[2]]


def bytes_of(text: str) -> float:
    """Return the bytes of a text such as ``5GB``; raise UserError for any other."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip(), re.I)
    if match is None:
        raise UserError(f"--most is a size such as 500MB or 5GB: {text!r}")
    return float(match[1]) * BYTES[match[2].upper()]
