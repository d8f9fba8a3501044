"""Writes a regression as JUnit XML, which continuous integration reads."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from junitparser import Error, Failure, Skipped
from junitparser.xunit2 import JUnitXml, TestCase, TestSuite

from sim.verify.items import Item


def junit(items: Sequence[Item]) -> str:
    """Return a suite for each test file, with a case for each cocotb test, seed and item.

    The item itself is a case where it simulates nothing or fails outside of its cocotb tests.
    """
    document = JUnitXml("ingather verify")
    for file, members in groupby(sorted(items, key=order), key=file_of):
        suite = TestSuite(file)
        for item in members:
            suite.add_testcases(list(cases_of(item)))
        document.add_testsuite(suite)
    document.update_statistics()
    return document.tostring().decode() + "\n"


def order(item: Item) -> tuple[str, int]:
    """Return what items are sorted by: their test, then their seed."""
    return item.test, item.seed


def file_of(item: Item) -> str:
    """Return the test file of an item."""
    return item.test.partition("::")[0]


def cases_of(item: Item) -> Iterator[TestCase]:
    """Yield the cases of an item."""
    explained = False
    for run in item.runs:
        for case in run["cases"]:
            explained |= not case["passed"]
            yield cocotb_case(item, case)
    if not item.runs or not (item.good or explained):
        yield own_case(item)


def cocotb_case(item: Item, case: Mapping[str, Any]) -> TestCase:
    """Return the case of a cocotb test in an item's simulation."""
    result = new_case(item, f": {case['name']}", case["seconds"])
    result.add_property("cycles", str(case["cycles"]))
    if not case["passed"]:
        result.result = [Failure(clean(case["message"]))]
    return result


def own_case(item: Item) -> TestCase:
    """Return the case of the item itself."""
    result = new_case(item, "", item.seconds)
    if item.outcome == "skipped":
        result.result = [Skipped(clean(item.message))]
    elif not item.good:
        kind = Failure if item.outcome == "failed" else Error
        result.result = [kind(clean(item.message), type_=item.outcome)]
    return result


def new_case(item: Item, suffix: str, seconds: float) -> TestCase:
    """Return a case named after its item, with its seed."""
    name = item.test.partition("::")[2] or item.test
    place = file_of(item).removesuffix(".py").replace("/", ".")
    result = TestCase(clean(f"{name} seed={item.seed}{suffix}"), place, round(seconds, 3))
    result.add_property("seed", str(item.seed))
    return result


def clean(text: str) -> str:
    """Return ``text`` without what XML cannot carry."""
    return "".join(c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff"))
