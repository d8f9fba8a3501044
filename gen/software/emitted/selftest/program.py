"""Runs the program that tests a card: reads its command line, and makes the checks."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gen.software.emitted.device import DeviceError
from gen.software.emitted.selftest.checks import Check, run_checks

MEMORY_BYTES = 1 << 33  #: size of the card's HBM
MODES = {"pcs": 1, "pma": 2}  #: part of the transceiver in which packets turn back

#: takes what ``open_card`` gives, bytes of memory and a mode; returns checks by name
Checks = Callable[[Any, int, int], Mapping[str, Check]]


def run_program(
    about: str,
    names: Sequence[str],
    checks_of: Checks,
    open_card: Callable[[str], AbstractContextManager[Any]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Make those checks of ``names`` that the command line selects; return the exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {open_card.__module__}",
        description=f"Test a card with {about}. The test overwrites the card's memory. The last"
        " line begins with PASS or FAIL; the exit status is 0 if all checks pass, 1 if one fails.",
    )
    parser.add_argument(
        "--device",
        default="/dev/xdma0",
        metavar="PREFIX",
        help="open the card whose driver's files have this prefix (default: %(default)s)",
    )
    parser.add_argument(
        "--bytes",
        type=amount,
        default=MEMORY_BYTES,
        metavar="N",
        help="test the first N bytes of memory, a multiple of 64 (default: all, %(default)s)",
    )
    parser.add_argument(
        "--loopback",
        choices=MODES,
        default="pma",
        help="turn packets back in this part of the transceiver (default: %(default)s)",
    )
    parser.add_argument(
        "--only", choices=names, action="append", help="make only this check; may be repeated"
    )
    asked = parser.parse_args(arguments)
    try:
        with open_card(asked.device) as driver:
            checks = checks_of(driver, asked.bytes, MODES[asked.loopback])
            return run_checks({name: checks[name] for name in asked.only or names})
    except DeviceError as error:
        print(f"FAIL: {error}")
        return 1


def amount(text: str) -> int:
    """Return the number of bytes that ``text`` says; raise ArgumentTypeError if it is illegal."""
    size = int(text, 0)
    if size % 64 or not 64 <= size <= MEMORY_BYTES:
        raise argparse.ArgumentTypeError(f"must be a multiple of 64 up to {MEMORY_BYTES}: {text}")
    return size
