"""Checks what assertions say of themselves in functions that fail."""

import sys
from types import SimpleNamespace

from sim.harness.beats import Beats
from sim.harness.failed_assertion import failed_assertion

NOW = 99


def beats():
    return Beats([{"a": 4}, {"a": 5}], stream="o", cycles=[10, 20])


def assertion_of(function):
    """Return the assertion at which ``function`` ended."""
    try:
        function()
    except AssertionError as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        return failed_assertion(trace.tb_frame, trace.tb_lineno)
    raise RuntimeError("nothing failed")


def test_names_a_beat_behind_arithmetic():
    def check():
        for beat in beats():
            assert beat["a"] * 2 == 8

    wrong = assertion_of(check).mentioned(NOW)
    assert (wrong.stream, wrong.index, wrong.cycle, wrong.field) == ("o", 1, 20, "a")
    assert (wrong.expected, wrong.got) == ("8", "10")


def test_names_a_stream_that_should_be_empty():
    def check():
        seen = beats()
        assert not seen

    wrong = assertion_of(check).mentioned(NOW)
    assert (wrong.index, wrong.cycle, wrong.expected) == (0, 10, "not seen")
    assert wrong.got == "{'a': 4}"


def test_names_a_stream_that_is_counted():
    def check():
        seen = beats()
        assert len(seen) == 3

    wrong = assertion_of(check).mentioned(NOW)
    assert (wrong.stream, wrong.index, wrong.cycle) == ("o", None, NOW)
    assert (wrong.expected, wrong.got) == ("3", "2")


def test_names_a_port():
    dut = SimpleNamespace(level=SimpleNamespace(_path="top.level", value=6))

    def check():
        assert 5 == int(dut.level.value)  # noqa: SIM300

    wrong = assertion_of(check).mentioned(NOW)
    assert (wrong.stream, wrong.cycle, wrong.expected, wrong.got) == ("level", NOW, "5", "6")


def test_names_nothing():
    def check():
        item = 1
        assert item == 2

    assert assertion_of(check).mentioned(NOW) is None


def test_finds_the_arrays():
    numpy = SimpleNamespace(array_equal=lambda left, right: False)

    def check():
        provided = [1, 2]
        assert numpy.array_equal(
            provided,
            [value + 1 for value in provided],
        )

    def other():
        assert not len([1])

    assert assertion_of(check).equal_arrays() == ([1, 2], [2, 3])
    assert assertion_of(other).equal_arrays() is None


def test_does_nothing_twice():
    steps = iter([3, 4])

    def check():
        assert (step := next(steps)) == 4, step

    result = assertion_of(check)
    assert result.mentioned(NOW) is None
    assert next(steps) == 4


def test_another_line_is_no_assertion():
    frame = sys._getframe()
    assert failed_assertion(frame, 1) is None
