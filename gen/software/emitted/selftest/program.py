"""Is the program that tests a card: what it is asked, and which checks it makes."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gen.software.emitted.device import DeviceError
from gen.software.emitted.selftest.checks import Check, run_checks

MEMORY_BYTES = 1 << 33  #: of HBM
MODES = {"pcs": 1, "pma": 2}  #: where what is sent turns back: in the transceiver's PCS, or its PMA

#: returns checks by name, of what ``open_card`` gives, a number of bytes and a mode
Checks = Callable[[Any, int, int], Mapping[str, Check]]


def run_program(
    about: str,
    names: Sequence[str],
    checks_of: Checks,
    open_card: Callable[[str], AbstractContextManager[Any]],
    arguments: Sequence[str] | None,
) -> int:
    """Make the checks that are asked for, of ``names``; return the exit status."""
    parser = argparse.ArgumentParser(
        description=f"Test a card with {about}. What the card's memory holds is lost. The last line"
        " begins with PASS or FAIL, and the exit status is 0 or 1."
    )
    parser.add_argument(
        "--device",
        default="/dev/xdma0",
        metavar="PREFIX",
        help="find the card by this prefix of its driver's files (%(default)s)",
    )
    parser.add_argument(
        "--bytes",
        type=amount,
        default=MEMORY_BYTES,
        metavar="N",
        help="test the first N bytes of memory, a multiple of 64 (all, %(default)s)",
    )
    parser.add_argument(
        "--loopback",
        choices=MODES,
        default="pma",
        help="let packets turn back in this part of the transceiver (%(default)s)",
    )
    parser.add_argument(
        "--only", choices=names, action="append", help="make this check; may be given again"
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
    """Return a number of bytes; argparse tells what is wrong with another one."""
    size = int(text, 0)
    if size % 64 or not 64 <= size <= MEMORY_BYTES:
        raise argparse.ArgumentTypeError(f"must be a multiple of 64 up to {MEMORY_BYTES}: {text}")
    return size
