"""Has what only the tests of this checkout need; the rest is :mod:`sim.verify.plugin`."""

import os

from tests.tclsh import MISSING

pytest_plugins = ["sim.verify.plugin"]


#: pages name the day, and tests that compare two of them may run across midnight
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    if left := [report for report in skipped if MISSING in str(report.longrepr)]:
        terminalreporter.write_line(f"{len(left)} tests are left out: {MISSING}")


def pytest_addoption(parser):
    parser.addoption("--update-ports", action="store_true", help="rewrite the committed ports")
