from junitparser import Error, Failure, Skipped
from junitparser.xunit2 import JUnitXml

from sim.verify.items import Item
from sim.verify.junit import junit


def run(*cases):
    return {
        "seconds": 1.0,
        "build_seconds": 0.0,
        "cycles": 5,
        "built": False,
        "cases": [
            {"name": name, "passed": not message, "cycles": 5, "seconds": 0.5, "message": message}
            for name, message in cases
        ],
    }


def item(test, outcome="passed", **more):
    return Item(test=f"tests/a.py::{test}", seed=7, outcome=outcome, seconds=2, **more)


def cases(*items):
    document = JUnitXml.fromstring(junit(items).encode())
    return {case.name: case for suite in document for case in suite}, document


def test_a_case_for_each_cocotb_test():
    result, document = cases(item("test_b[1]", runs=(run(("x", ""), ("y", "")), run(("z", "")))))
    assert list(result) == [f"test_b[1] seed=7: {name}" for name in "xyz"]
    case = result["test_b[1] seed=7: x"]
    assert case.classname == "tests.a"
    assert case.is_passed
    assert case.time == 0.5
    assert {p.name: p.value for p in case.properties()} == {"seed": "7", "cycles": "5"}
    assert (document.tests, document.failures, document.errors) == (3, 0, 0)


def test_a_failed_case_stands_for_its_item():
    both = run(("x", "wrong \x1b<&>"), ("y", ""))
    observed, document = cases(item("test_b", "failed", runs=(both,)))
    assert len(observed) == 2
    (result,) = observed["test_b seed=7: x"].result
    assert isinstance(result, Failure)
    assert result.message == "wrong <&>"
    assert (document.tests, document.failures) == (2, 1)


def test_the_item_itself_where_no_case_reports_it():
    observed, _ = cases(
        item("none"),
        item("skipped", "skipped", message="not today"),
        item("after", "failed", message="weights differ", runs=(run(("x", "")),)),
        item("late", "timeout", message="stopped"),
    )
    assert list(observed) == [
        "after seed=7: x",
        "after seed=7",
        "late seed=7",
        "none seed=7",
        "skipped seed=7",
    ]
    assert observed["none seed=7"].is_passed
    for name, kind, message in (
        ("after", Failure, "weights differ"),
        ("late", Error, "stopped"),
        ("skipped", Skipped, "not today"),
    ):
        (result,) = observed[f"{name} seed=7"].result
        assert isinstance(result, kind)
        assert result.message == message


def test_a_suite_a_file_in_order():
    items = [Item(test=f"{f}.py::t", seed=1, outcome="passed", seconds=1) for f in "bab"]
    document = JUnitXml.fromstring(junit(items).encode())
    assert [(suite.name, suite.tests) for suite in document] == [("a.py", 1), ("b.py", 2)]
