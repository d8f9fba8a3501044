from gen.datasheet.netlist import OUTSIDE, read_netlist


def test_blocks_and_where_their_inputs_come_from(demo):
    netlist = read_netlist(demo)
    assert netlist.blocks == {
        "registers": "register_block_demo",
        "sum": "sum_2x40",
        "unit_0": "unit_2x40",
        "unit_1": "unit_2x40",
    }
    step = netlist.inputs["unit_1", "step", 7]
    assert netlist.sources(step) == {("registers", "control", 7)}
    word = netlist.inputs["unit_1", "i_payload", 39]
    assert netlist.sources(word) == {(OUTSIDE, "words_1_payload", 39)}
    assert netlist.sources(netlist.inputs[OUTSIDE, "irq", 0]) == {("registers", "control", 1)}


def test_logic_between_blocks_is_followed(demo):
    netlist = read_netlist(demo)
    valid = netlist.inputs["sum", "i_0_valid", 0]
    assert netlist.sources(valid) == {("unit_0", "o_valid", 0), ("registers", "control", 0)}


def test_parts_that_are_no_components_are_dissolved():
    from amaranth.hdl import Module
    from amaranth.lib.wiring import In, Out

    from gen.base.emission.emit import emit
    from hdl.common.component import Component
    from tests.gen.datasheet.design import DemoParams, Unit

    class Nested(Component):
        """Has a unit in a part without a class of its own, whose name is also a signal's."""

        def __init__(self, params):
            super().__init__(params, i=In(40), o=Out(40), unit=Out(1))

        def build(self, m):
            inner = Module()
            inner.submodules.unit = unit = Unit(self.params)
            m.submodules.part = inner
            m.submodules.unit = other = Unit(self.params)
            m.d.comb += [unit.i.payload.eq(self.i), other.i.payload.eq(unit.o.payload)]
            m.d.comb += [self.o.eq(other.o.payload), self.unit.eq(other.o.valid)]

    netlist = read_netlist(emit(Nested(DemoParams())))
    assert set(netlist.blocks) == {"part.unit", "unit"}
    assert netlist.sources(netlist.inputs["unit", "i_payload", 3]) == {
        ("part.unit", "o_payload", 3)
    }
