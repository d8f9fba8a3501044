"""Checks DSP slices that are placed against UG579; what they add is tested in their cascades."""

from itertools import product

import cocotb
import pyslang
import pytest
from amaranth.hdl import ClockSignal, Module, Signal
from amaranth.lib.wiring import In, Out
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from gen.base.emission.emit import emit
from hdl.common.component import Component
from hdl.common.dsp48e2 import DSP_BITS, Accumulation, gated_adder
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate

#: Table 3-2 of UG579, as far as it is not left at what an instance has without it.
EXPECTED = {
    "A_INPUT": "DIRECT",
    "B_INPUT": "DIRECT",
    "USE_MULT": "NONE",  # A:B goes past the multiplier
    "USE_SIMD": "ONE48",
    **dict.fromkeys(["AREG", "BREG", "CREG", "PREG", "OPMODEREG", "ALUMODEREG"], 1),
    **dict.fromkeys(["ACASCREG", "BCASCREG"], 1),  # as AREG and BREG
    **dict.fromkeys(["ADREG", "DREG", "MREG", "INMODEREG", "CARRYINREG", "CARRYINSELREG"], 0),
}
OTHERS = {"RND"}
#: The registers that exist are enabled, the ones that do not exist are not, nothing is reset.
ENABLED = {"CEA2", "CEB2", "CEC", "CECTRL", "CEALUMODE"}


def instances(emission):
    """Return module, attributes and connections of each DSP slice."""
    result = []
    for name, module in emission.modules.items():
        tree = pyslang.syntax.SyntaxTree.fromText(module.verilog)

        def visit(node, name=name):
            if not isinstance(node, pyslang.syntax.HierarchyInstantiationSyntax):
                return
            if str(node.type).strip() != "DSP48E2":
                return
            for instance in node.instances:
                result.append((name, assigned(node.parameters), assigned(instance.connections)))

        tree.root.visit(visit)
    return result


def assigned(nodes):
    """Return ``.NAME(value)`` of a list in brackets."""
    parameters = getattr(nodes, "parameters", nodes)
    named = [node for node in parameters if hasattr(node, "name") and hasattr(node, "expr")]
    return {str(node.name).strip(): str(node.expr).strip() for node in named}


def number(text):
    """Return the number of a Verilog constant."""
    if "'" not in text:
        return int(text)
    base, digits = text.partition("'")[2][0], text.partition("'")[2][1:]
    if base == "s":
        base, digits = digits[0], digits[1:]
    return int(digits, {"h": 16, "d": 10, "b": 2}[base])


@pytest.mark.parametrize(
    "params", [EngineParams(dsp=True), EngineParams(banks=3, lanes=5, dsp=True)]
)
def test_attributes_of_every_instance(params):
    emission = emit(Engine(params))
    counts, placed, starts = emission.counts(), 0, {}
    for module, attributes, wires in instances(emission):
        placed += counts[module]
        assert set(attributes) == set(EXPECTED) | OTHERS
        for name, value in EXPECTED.items():
            shown = attributes[name]
            assert shown.strip('"') == value if isinstance(value, str) else number(shown) == value
        starts.setdefault(module, []).append(number(attributes["RND"]))
        for name, wire in wires.items():
            if name.startswith("CE") and name != "CEP":
                assert number(wire) == (name in ENABLED), name
            if name.startswith("RST"):
                assert number(wire) == 0, name
    for module, result in starts.items():
        # Only the last slice of a cascade adds up, from one half on.
        half = 1 << params.max_bits - 1 if "_acc" in module else 0
        assert sorted(result) == [0] * (len(result) - 1) + [half]
    lanes = params.bank.cascades * params.bank.cascade.slices
    assert placed == params.banks * lanes + params.lanes * params.gradient.cascade.slices
    if params == EngineParams(dsp=True):
        assert placed == 512


class Slice(Component):
    """Has a slice of each kind: ``params`` says whether it has a cascade and whether it adds up."""

    def __init__(self, params) -> None:
        super().__init__(
            params,
            **{name: In(1) for name in ("gate_ab", "gate_c", "negate", "first")},
            ab=In(DSP_BITS),
            c=In(DSP_BITS),
            above=In(DSP_BITS),
            total=Out(DSP_BITS),
        )

    def build(self, m: Module) -> None:
        cascaded, accumulates = self.params
        below = Signal(DSP_BITS)
        m.submodules.slice = gated_adder(
            clock=ClockSignal(),
            gates=(self.gate_ab, self.gate_c),
            values=(self.ab, self.c),
            negate=self.negate,
            cascade_in=self.above if cascaded else None,
            cascade_out=below,
            total=self.total,
            accumulation=Accumulation(valid=self.gate_ab | 1, first=self.first, start=5)
            if accumulates
            else None,
        )


@pytest.mark.parametrize("cascaded", [False, True])
@pytest.mark.parametrize("accumulates", [False, True])
def test_operation_modes(cascaded, accumulates):
    simulate(Slice((cascaded, accumulates)), __name__, all_signals=True)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def opmode_is_as_in_the_table(dut):
    """UG579, tables 2-4 to 2-8, has OPMODE's W, Z, Y, X; ALUMODE 0011 is Z - (W + X + Y + CIN)."""
    cascaded, accumulates = params_in_simulator()
    await streams.start(dut)
    for ab_on, c_on, negate, first in product((0, 1), repeat=4):
        if accumulates and negate:
            continue
        ab, c, above = 3 << 40 | 7, (1 << 48) - 9, 1000
        for name, value in (("gate_ab", ab_on), ("gate_c", c_on), ("negate", negate)):
            getattr(dut, name).value = value
        dut.first.value, dut.ab.value, dut.c.value, dut.above.value = first, ab, c, above
        await ClockCycles(dut.clk, 2)
        await ReadOnly()
        w = {(0, 0): 0b00, (0, 1): 0b00, (1, 0): 0b01, (1, 1): 0b10}[accumulates, first]
        z, y, x = (0b001 if cascaded else 0), 0b11 * c_on, 0b11 * ab_on
        assert int(dut.slice.opmode.value) == w << 7 | z << 4 | y << 2 | x
        assert int(dut.slice.alumode.value) == 0b11 * negate
        await RisingEdge(dut.clk)
        before = int(dut.total.value)
        await ReadOnly()
        added = {0b00: 0, 0b01: before, 0b10: 5}[w] + ab * ab_on + c * c_on
        total = (above if cascaded else 0) + (-added if negate else added)
        assert int(dut.total.value) == total % (1 << 48)
        await RisingEdge(dut.clk)
