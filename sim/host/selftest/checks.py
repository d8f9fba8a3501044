"""Runs checks of a card one after another, and prints a verdict in one line."""

import sys
from collections.abc import Callable, Mapping

from sim.host.device import DeviceError

Tell = Callable[[str], None]  #: takes a text that says how far a check has come
Check = Callable[[Tell], str]  #: returns a text that says what was found to be right


class CheckFailed(DeviceError):
    """Reports a fault that a check has found in a card."""


def run_checks(checks: Mapping[str, Check]) -> int:
    """Run checks in their order, up to the first that fails.

    Returns the exit status, 0 if all pass and 1 if not. Progress goes to standard error; the result
    of each check and the verdict go to standard output.
    """
    for name, check in checks.items():
        try:
            result = check(lambda text, name=name: print(f"{name}: {text}", file=sys.stderr))
        except DeviceError as error:
            print(f"FAIL: {name}: {error}")
            return 1
        print(f"{name}: {result}")
    print(f"PASS: {', '.join(checks)}")
    return 0
