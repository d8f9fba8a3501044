"""Tests which assignments and comparisons are refused because they would lose bits."""

import re
from dataclasses import dataclass

import pytest
from amaranth.hdl import Array, Cat, Const, Fragment, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import emit
from gen.base.emission.narrowing import NarrowingError, check
from hdl.common import burst_generator
from hdl.common.arithmetic import low_bits
from hdl.common.burst_generator import BurstGenerator
from hdl.common.component import Component
from hdl.common.read_plan import ReadMasterParams
from hdl.p4sgd.engine import mini_batches
from hdl.p4sgd.engine.mini_batches import MiniBatches
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.transport import timers
from hdl.p4sgd.transport.params import TransportParams
from hdl.p4sgd.transport.timers import Timers

PAIR = data.StructLayout({"low": 8, "high": 4})


class Some:
    """Has signals of a few widths."""

    def __init__(self):
        self.item = Signal()
        self.counter = Signal(8, name="counter")
        self.other = Signal(8, name="other")
        self.short = Signal(4, name="short")
        self.wide = Signal(16, name="wide")
        self.number = Signal(signed(8), name="number")
        self.pair = Signal(PAIR, name="pair")
        self.list = Array(Signal(8 - k, name=f"list_{k}") for k in range(2))


def checked(assignments):
    m = Module()
    m.d.sync += assignments(Some())
    check(Fragment.get(m, None), "example")


KEEPS = {
    "the same width": lambda s: s.counter.eq(s.other),
    "a counter wraps": lambda s: s.counter.eq(s.counter + 1),
    "a counter starts again": lambda s: s.counter.eq(Mux(s.item, 0, s.counter + 1)),
    "up and down": lambda s: s.counter.eq(s.counter - s.item + s.short),
    "an element of an array wraps": lambda s: s.list[0].eq(s.list[0] + 1),
    "a field wraps": lambda s: s.pair.low.eq(s.pair.low + 1),
    "a difference of naturals": lambda s: s.counter.eq(s.other - s.short),
    "a product that fits": lambda s: s.wide.eq(s.counter * s.other),
    "a quotient": lambda s: s.counter.eq(s.wide // 256),
    "a remainder": lambda s: s.short.eq(s.wide % 16),
    "a mask": lambda s: s.short.eq(s.wide & 0xF),
    "a shift down": lambda s: s.short.eq(s.wide >> 12),
    "half of a rounded number": lambda s: s.number.eq((s.number + 1) >> 1),
    "a slice": lambda s: s.counter.eq(s.wide[:8]),
    "low bits": lambda s: s.counter.eq(low_bits(s.wide, 8)),
    "low bits of less": lambda s: s.wide.eq(low_bits(s.counter, 16)),
    "a sum in range": lambda s: s.counter.eq(s.short + s.pair.high + 225),
    "an end within reach": lambda s: s.item.eq(s.counter == s.other - 1),
    "a wide number that may equal a narrow one": lambda s: s.item.eq(s.wide == s.other),
    "the same bits as a sign": lambda s: s.number.eq(s.counter),
}

LOSES = {
    "a wide number": (lambda s: s.counter.eq(s.wide), "16 bits go into the 8 of counter"),
    "a constant": (lambda s: s.short.eq(16), "5 bits go into the 4 of short"),
    "one of two": (lambda s: s.short.eq(Mux(s.item, 16, s.short)), "5 bits go into the 4 of short"),
    "a sum": (lambda s: s.counter.eq(s.other + 1), "9 bits go into the 8 of counter"),
    "twice itself": (lambda s: s.counter.eq(s.counter << 1), "9 bits go into the 8 of counter"),
    "a counter by too much": (lambda s: s.counter.eq(s.counter + s.wide), "17 bits go into the 8"),
    "a difference of too wide": (lambda s: s.short.eq(s.wide - 1), "17 bits go into the 4"),
    "a difference by too much": (lambda s: s.short.eq(s.short - s.wide), "go into the 4 of short"),
    "a sum of signed numbers": (lambda s: s.number.eq(s.number + s.number), "9 bits go into the 8"),
    "a negation": (lambda s: s.number.eq(-s.number), "9 bits go into the 8 of number"),
    "a shift register": (lambda s: s.short.eq(Cat(s.item, s.short)), "5 bits go into the 4"),
    "a field": (lambda s: s.pair.high.eq(s.pair.low), r"8 bits go into the 4 of pair\[8:12\]"),
    "a narrow element": (lambda s: s.list[s.item].eq(s.counter), "8 bits go into the 7 of list_1"),
    "a bundle": (lambda s: s.pair.as_value().eq(s.wide), "16 bits go into the 12 of pair"),
    "an end out of reach": (
        lambda s: [s.counter.eq(s.counter + 1), s.item.eq(s.counter == s.wide)],
        "counter counter has 8 bits, its end 16",
    ),
    "a last one out of reach": (
        lambda s: [s.counter.eq(Mux(s.item, 0, s.counter + 1)), s.item.eq(s.counter != s.wide - 1)],
        "counter counter has 8 bits, its end 16",
    ),
    "a constant out of reach": (
        lambda s: s.item.eq(s.short == 16),
        "short of 4 bits never equals 16",
    ),
}


@pytest.mark.parametrize("case", KEEPS)
def test_what_loses_nothing_is_accepted(case):
    checked(KEEPS[case])


@pytest.mark.parametrize("case", LOSES)
def test_what_loses_bits_is_refused_with_its_place(case):
    assignments, text = LOSES[case]
    with pytest.raises(NarrowingError, match=text) as caught:
        checked(assignments)
    assert re.search(r"^tests/gen/base/emission/test_narrowing.py:\d+: ", str(caught.value), re.M)


def test_conditions_and_inner_modules_are_looked_at():
    some, m, inner = Some(), Module(), Module()
    m.submodules.inner = inner
    with inner.If(some.item), inner.Switch(some.short), inner.Case(3):
        inner.d.comb += some.counter.eq(some.wide)
    with m.If(some.short == 16):
        m.d.comb += some.item.eq(1)
    with pytest.raises(NarrowingError) as caught:
        check(Fragment.get(m, None), "example")
    assert len(str(caught.value).splitlines()) == 3


@dataclass(frozen=True, kw_only=True)
class NoParams:
    """Has no parameters."""


@pytest.mark.parametrize("make", [lambda: Const(300, 8), lambda: Signal(8, init=300)])
def test_a_constant_that_does_not_fit_is_refused(make):
    class Constant(Component):
        def __init__(self):
            super().__init__(NoParams(), a=In(8), b=Out(8))

        def build(self, m):
            m.d.sync += self.b.eq(self.a & make())

    with pytest.raises((NarrowingError, Warning), match="300"):
        emit(Constant())


@pytest.mark.parametrize(
    ("module", "name", "bits", "component", "signals"),
    [
        (burst_generator, "COUNT_BITS", 16, BurstGenerator(ReadMasterParams(address_bits=28)),
         {"runs_left", "span"}),
        (burst_generator, "EPOCH_BITS", 16, BurstGenerator(ReadMasterParams(address_bits=28)),
         {"epochs_left"}),
        (timers, "TIME_BITS", 20, Timers(TransportParams(slots=16)), {"blocked"}),
    ],
)  # fmt: skip
def test_a_counter_that_is_cut_short_is_named(monkeypatch, module, name, bits, component, signals):
    monkeypatch.setattr(module, name, bits)
    with pytest.raises(NarrowingError) as caught:
        emit(component)
    assert all(signal in str(caught.value) for signal in signals)


@pytest.mark.parametrize("counter", ["in_batch", "in_epoch"])
def test_a_counter_of_mini_batches_that_is_cut_short_is_named(monkeypatch, counter):
    class Shorter:
        names = iter(("in_batch", "in_epoch"))

        @classmethod
        def like(cls, value):
            name = next(cls.names)
            return Signal(len(value) - (name == counter), name=name)

    monkeypatch.setattr(mini_batches, "Signal", Shorter)
    with pytest.raises(NarrowingError, match=f"counter {counter} has"):
        emit(MiniBatches(EngineParams(lanes=32, chunks=16, fifo_words=256)))
