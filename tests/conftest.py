"""Has what only the tests of this checkout need; the rest is :mod:`sim.verify.plugin`."""

import os

from tests.tclsh import MISSING

pytest_plugins = ["sim.verify.plugin"]


#: pages name the day, and tests that compare two of them may run across midnight
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")


def pytest_terminal_summary(terminalreporter):
    left = str([item.longrepr for item in terminalreporter.stats.get("skipped", [])]).count(MISSING)
    terminalreporter.write_line(f"{left} tests are left out: {MISSING}" * bool(left))
    if "--update-ports" in terminalreporter.config.invocation_params.args:
        terminalreporter.write_line("--update-ports is called --update-lists from now on")


def pytest_addoption(parser):
    about = "rewrite the committed lists of ports and limits; once called --update-ports"
    parser.addoption("--update-lists", "--update-ports", action="store_true", help=about)
