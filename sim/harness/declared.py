"""Compares the cocotb tests that ran with those that their module declares: all of them must run.

:func:`note` is called inside the simulator, behind cocotb's own start; it leaves :data:`FILE` in
the folder of the run.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sim.harness.results import Case

FILE = "declared.json"
#: what is called when a simulator has started: the functions that cocotb calls by default, and ours
CALLED = (
    "cocotb_tools._coverage:start_cocotb_library_coverage",
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "cocotb.regression:_run_regression",
    f"{__name__}:note",
)


def note() -> None:
    """Write the names of the tests that the modules of this simulation declare."""
    Path(FILE).write_text(json.dumps(declared(os.environ["COCOTB_TEST_MODULES"].split(","))))


def declared(modules: Iterable[str]) -> list[tuple[str, str]]:
    """Return the module and the name of each cocotb test that is found in ``modules``."""
    return [(test.module, test.name) for module in modules for test in tests_of(module)]


def tests_of(module: str) -> list[Any]:
    """Return each cocotb test that is found in ``module``."""
    from cocotb.regression import Test, TestGenerator

    tests: list[Test] = []
    for result in vars(import_module(module)).values():
        if isinstance(result, Test):
            tests.append(result)
        elif isinstance(result, TestGenerator):
            tests += result.generate_tests()
    return tests


def difference(
    tests: Iterable[Sequence[str]], test_filter: str | None, cases: Iterable[Case]
) -> str:
    """Say which of the declared ``tests`` that the filter selects did not run, or what else ran.

    ``test_filter`` is a regular expression that cocotb searches for in "MODULE.NAME"; None selects
    all. Empty if just those ran.
    """
    expected = Counter(
        name for module, name in tests if re.search(test_filter or "", f"{module}.{name}")
    )
    ran = Counter(case.name for case in cases)
    reported = []
    if missing := sorted((expected - ran).elements()):
        reported.append(
            f"{len(missing)} of {expected.total()} cocotb tests did not run: {missing[0]}"
        )
    if more := sorted((ran - expected).elements()):
        reported.append(f"{len(more)} cocotb tests ran that are not to: {more[0]}")
    return "; ".join(reported)
