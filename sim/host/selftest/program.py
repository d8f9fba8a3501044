"""Runs the program that tests a card: reads its command line, and makes the checks."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sim.host.device import DeviceError
from sim.host.selftest.board import MODES
from sim.host.selftest.checks import Check, run_checks

MEMORY_BYTES = 1 << 33  #: size of the card's HBM


def run_program(
    about: str,
    names: Sequence[str],
    options: Sequence[str],
    checks_of: Callable[..., Mapping[str, Check]],
    open_card: Callable[[str], AbstractContextManager[Any]],
    device: Mapping[str, Any],
    arguments: Sequence[str] | None = None,
) -> int:
    """Make those checks of ``names`` that the command line selects; return the exit status.

    The program has these ``options`` of OPTIONS; ``device`` says how its user names the card.
    ``checks_of`` takes what ``open_card`` gives and the options' values, and returns all checks.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {open_card.__module__}",
        description=f"Test a card with {about}. The last"
        " line begins with PASS or FAIL; the exit status is 0 if all checks pass, 1 if one fails.",
    )
    parser.add_argument("--device", **device)
    for name in options:
        parser.add_argument(f"--{name}", **OPTIONS[name])
    parser.add_argument(
        "--only", choices=names, action="append", help="make only this check; may be repeated"
    )
    requested = parser.parse_args(arguments)
    try:
        with open_card(requested.device) as driver:
            checks = checks_of(driver, *(getattr(requested, name) for name in options))
            return run_checks({name: checks[name] for name in requested.only or names})
    except DeviceError as error:
        print(f"FAIL: {error}")
        return 1


def amount(text: str) -> int:
    """Return the number of bytes that ``text`` says; raise ArgumentTypeError if it is illegal."""
    size = int(text, 0)
    if size % 64 or not 64 <= size <= MEMORY_BYTES:
        raise argparse.ArgumentTypeError(f"must be a multiple of 64 up to {MEMORY_BYTES}: {text}")
    return size


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "bytes": {
        "type": amount,
        "default": MEMORY_BYTES,
        "metavar": "N",
        "help": "test, and overwrite, the first N bytes of the card's memory, a multiple of 64"
        " (default: all, %(default)s)",
    },
    "loopback": {
        "choices": MODES,
        "default": "pma",
        "help": "turn packets back in this part of the transceiver (default: %(default)s)",
    },
}
