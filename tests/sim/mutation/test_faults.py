"""Makes mistakes of designers in a small component that has a place for each of them."""

from dataclasses import dataclass

import pytest
from amaranth.hdl import Const, Signal
from amaranth.lib.wiring import In, Out

from gen.base.emission.emit import Emission, EmittedModule
from hdl.common.component import Component
from hdl.u280.vendor import VendorIp, VendorPort
from sim.harness.lint import lint
from sim.harness.verilate import WAIVERS
from sim.mutation.equivalence import changes_nothing
from sim.mutation.faults import KINDS, SHARE
from sim.mutation.mutants import emission_with_sources, mutate


@dataclass(frozen=True, kw_only=True)
class NoParams:
    """Has no parameters."""


class Part(Component):
    def __init__(self, params):
        ports = {"clear": In(1), "a": In(4), "b": In(4), "x": Out(4), "y": Out(4)}
        super().__init__(params, ports)

    def build(self, m):
        m.d.sync += [self.x.eq(self.a & self.b), self.y.eq(self.a)]


class Example(Component):
    def __init__(self, params):
        super().__init__(
            params,
            resp=In(2),
            bits=In(5),
            step=In(1),
            item=In(4),
            other=In(4),
            failed=Out(1),
            any=Out(1),
            all=Out(1),
            count=Out(12),
            late=Out(1),
            x=Out(4),
            y=Out(4),
        )

    def build(self, m):
        m.submodules.part = part = Part(self.params)
        m.d.comb += [
            part.a.eq(self.item),
            part.b.eq(self.other),
            self.x.eq(part.x),
            self.y.eq(part.y),
            self.failed.eq(self.resp != 0),
            self.any.eq(self.bits.any()),
            self.all.eq(self.bits.all()),
            self.late.eq(self.count >= 1000),
        ]
        count = Signal(12)
        m.d.comb += self.count.eq(count)
        with m.If(self.step):
            m.d.sync += count.eq(count + 1)


@pytest.fixture(scope="module")
def built():
    return mutate(emission_with_sources(Example(NoParams())), "example", 25 * SHARE, 1)


def test_every_kind_is_built_and_changes_something(built):
    emission, mutants, rtlil = built
    faults = [mutant for mutant in mutants if mutant.about]
    assert {mutant.mode for mutant in faults} == set(KINDS)
    texts = {mutant.text for mutant in faults}
    assert "example: width count 9" in texts
    assert any(text.endswith("a with b") for text in texts)
    assert any(text.endswith("x with y") for text in texts)
    assert not any("clear with" in text or "with clear" in text for text in texts)
    for bound in ("1000 for 1001", "1000 for 999"):
        assert any(text.endswith(bound) for text in texts)
    same = [mutant.text for mutant in faults if changes_nothing(rtlil, mutant)]
    assert not same
    lint(emission, WAIVERS)


class Placed(Component):
    """Stands for a vendor's IP, of which only the ports are known."""

    vendor_ips = (
        VendorIp(
            name="ip",
            vlnv="",
            ports=(
                VendorPort(name="a", direction="input", bits=4),
                VendorPort(name="b", direction="input", bits=4),
                VendorPort(name="x", direction="output", bits=4),
                VendorPort(name="y", direction="output", bits=4),
            ),
        ),
    )

    def __init__(self, params):
        super().__init__(params, i=In(4), x=Out(4), y=Out(4))

    def build(self, m):
        (ip,) = self.vendor_ips
        m.submodules.ip = ip.place(a=self.i, b=Const(5, 4), x=self.x, y=self.y)


def test_inputs_of_a_vendor_s_part_are_known():
    """A constant at an input is no output that a mistake could change."""
    component = Placed(NoParams())
    emission, mutants, _ = mutate(emission_with_sources(component), "placed", 8 * SHARE, 1)
    swaps = {mutant.text for mutant in mutants if mutant.mode == "swap"}
    assert swaps == {f"placed: swap ip ip {ports}" for ports in ("a with b", "x with y")}
    (ip,) = component.vendor_ips
    lint(
        Emission(
            {ip.name: EmittedModule(ip.name, type(component), verilog=ip.stub)} | emission.modules
        ),
        WAIVERS,
    )


def test_they_are_a_share_of_a_sample():
    _, mutants, _ = mutate(emission_with_sources(Example(NoParams())), "example", 20, 1, 0)
    assert sum(bool(mutant.about) for mutant in mutants) == 20 // SHARE
    assert [mutant.number for mutant in mutants] == list(range(1, 21))
    _, others, _ = mutate(emission_with_sources(Example(NoParams())), "example", 20, 2)
    assert {m.text for m in mutants if m.about} != {m.text for m in others if m.about}
