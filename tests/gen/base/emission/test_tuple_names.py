"""Signals that a statement makes together have its variables' names in the Verilog."""

import re

import pytest
from amaranth.hdl import Signal
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.base.emission.tuple_names import named_tuples
from hdl.common.component import Component
from hdl.common.params import Params


class Three(Component):
    def __init__(self, params):
        super().__init__(params, i=In(3), o=Out(3))

    def build(self, m):
        first, (second, third) = Signal(), (Signal(), Signal())
        fourth, fifth = (
            Signal(),
            Signal.like(
                self.i,
            ),
        )
        m.d.sync += [first.eq(self.i[0]), second.eq(first), third.eq(second)]
        m.d.sync += [fourth.eq(third), fifth.eq(self.i), self.o.eq(fifth ^ fourth)]


class Unpacked(Component):
    def __init__(self, params):
        super().__init__(params, i=In(1), o=Out(2))

    def build(self, m):
        first, second = (Signal() for _ in range(2))
        m.d.sync += [first.eq(self.i), second.eq(first), self.o.eq(first + second)]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (Three, {"first", "fourth", "fifth", "signal", "signal$1"}),
        (Unpacked, {"signal", "signal$1"}),
    ],
)
def test_names(kind, names):
    """A tuple in a tuple, and what a generator makes, have no variables of their own."""
    text = emit(kind(Params())).top.verilog
    assert {*re.findall(r"^  reg (?:\[.*?\] )?(\S+?)(?: =|;)", text, re.M)} == names


def test_amaranth_finds_names_as_before_behind_emission():
    emit(Three(Params()))
    first, _ = Signal(), Signal()
    assert first.name == "$signal"


def test_what_is_of_no_file_has_no_names():
    space = {"Signal": Signal}
    with named_tuples():
        exec(compile("first, second = Signal(), Signal()", "no.such.file", "exec"), space)
    assert space["first"].name == "$signal"
