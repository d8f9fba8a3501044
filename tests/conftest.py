"""Has what only the tests of this checkout need; the rest is :mod:`sim.verify.plugin`."""

import os

pytest_plugins = ["sim.verify.plugin"]


#: pages name the day, and tests that compare two of them may run across midnight
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")


def pytest_addoption(parser):
    parser.addoption("--update-ports", action="store_true", help="rewrite the committed ports")
