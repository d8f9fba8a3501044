"""Runs checks of a card one after another, and says in one line what came of them."""

import sys
from collections.abc import Callable, Mapping

from gen.software.emitted.device import DeviceError

Tell = Callable[[str], None]  #: is told how far a check is
Check = Callable[[Tell], str]  #: returns what it has found to be right


class CheckFailed(DeviceError):
    """Reports what a check has found to be wrong with a card."""


def run_checks(checks: Mapping[str, Check]) -> int:
    """Run checks by their names; return the exit status: 0 if all pass, 1 after the first that
    does not.

    Progress goes to the standard error, what each has found and the verdict to the standard output.
    """
    for name, check in checks.items():
        try:
            found = check(lambda text, name=name: print(f"{name}: {text}", file=sys.stderr))
        except DeviceError as error:
            print(f"FAIL: {name}: {error}")
            return 1
        print(f"{name}: {found}")
    print(f"PASS: {', '.join(checks)}")
    return 0
