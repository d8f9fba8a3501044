from dataclasses import dataclass

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

import sim.harness.emissions
from gen.emission.emit import emit
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.p4sgd.transport.params import TransportParams
from hdl.p4sgd.transport.slot_table import SlotTable
from sim.harness.coverage_runs import COVERAGE
from sim.harness.emissions import EMITTERS, KnownModule, emission_of
from sim.harness.verilate import class_path

FIFO = FifoParams(width=8, depth=4)


@dataclass(frozen=True, kw_only=True)
class PairParams:
    tag: object = None


class Pair(Component):
    """Two FIFOs that do nothing."""

    def __init__(self, params):
        super().__init__(params, {"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        for depth in (3, 5):
            m.submodules[f"part_{depth}"] = Fifo(FifoParams(width=8, depth=depth))
        m.d.comb += self.o.eq(self.i)
        return m


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def emitted(monkeypatch):
    """What is emitted, as it happens."""
    done = []

    def counted(component):
        done.append(type(component))
        return emit(component)

    monkeypatch.setattr(sim.harness.emissions, "emit", counted)
    return done


def test_elaborated_once_and_the_same_ever_after(emitted):
    first, again = (emission_of(Fifo(FIFO)) for _ in range(2))
    assert emitted == [Fifo]
    assert isinstance(again.top, KnownModule)
    assert again.verilog == first.verilog == emit(Fifo(FIFO)).verilog
    assert again.digest == first.digest
    assert again.top.ports == first.top.ports
    assert again.counts() == first.counts()


def test_modules_know_their_class_without_being_made(emitted):
    emission_of(Pair(PairParams()))
    modules = emission_of(Pair(PairParams())).modules
    kinds = [class_path(module.kind) for module in modules.values()]
    assert kinds == [class_path(kind) for kind in (Fifo, Fifo, Pair)]
    assert emitted == [Pair]


def test_what_is_not_kept_is_made_when_asked_for(emitted):
    emission_of(Pair(PairParams()))
    modules = list(emission_of(Pair(PairParams())).modules.values())
    assert modules[0].component.params == FifoParams(width=8, depth=3)
    assert f"module \\{modules[1].name}\n" in modules[1].rtlil
    assert emitted == [Pair, Pair]
    with pytest.raises(AttributeError, match="nothing"):
        _ = modules[0].nothing


def test_other_parameters_are_emitted(emitted):
    for depth in (4, 5, 4):
        assert emission_of(Fifo(FifoParams(width=8, depth=depth)))
    assert len(emitted) == 2


def test_other_sources_are_emitted(emitted, monkeypatch):
    asked = []
    for digest in ("first", "second", "first"):
        monkeypatch.setattr(
            sim.harness.emissions, "digest_of", lambda modules, d=digest: asked.append(modules) or d
        )
        emission_of(Pair(PairParams(tag=FIFO)))
    assert len(emitted) == 2
    assert set(asked[0]) == {*EMITTERS, Pair.__module__, "hdl.common.fifo"}


def test_nothing_is_kept_of_files_that_were_edited_since_they_were_imported(emitted, monkeypatch):
    monkeypatch.setattr(sim.harness.emissions, "STARTED", 0.0)
    for _ in range(2):
        emission_of(Fifo(FIFO))
    assert emitted == [Fifo, Fifo]


def test_expectations_are_asserted_but_not_covered(monkeypatch):
    table = SlotTable(TransportParams(slots=2))
    assert "assert (expects_starts_if_it_may)" in emission_of(table).verilog
    monkeypatch.setenv(COVERAGE, "1")
    assert "expects" not in emission_of(table).verilog


def test_what_cannot_be_pickled_is_emitted_each_time(emitted):
    class Local(Pair):
        pass

    for component in (Local(PairParams()), Pair(PairParams(tag=lambda: 0))):
        assert emission_of(component).verilog == emission_of(component).verilog
    assert emitted == [Local, Local, Pair, Pair]
