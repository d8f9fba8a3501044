"""Tests what is read of a design: its interfaces, and the links between its blocks."""

from gen.datasheet.interfaces import interfaces
from gen.datasheet.links import structure
from hdl.common.axi import AxiReadSignature
from hdl.common.component import Component
from tests.gen.datasheet.design import Demo, DemoParams


def test_streams_and_buses_join_blocks_and_ports(demo):
    result = structure(demo)
    assert {(b.title, b.module, b.count) for b in result.blocks.values()} == {
        ("registers", "register_block_demo", 1),
        ("sum", "sum_2x40", 1),
        ("unit_0..1", "unit_2x40", 2),
    }
    streams = {
        (link.source, link.sink, link.label, link.bits, link.count)
        for link in result.links
        if link.is_stream
    }
    assert streams == {
        ("@s_axil", "registers", "axil", 32, 1),
        ("@words", "unit", "i", 40, 2),
        ("unit", "sum", "o", 40, 2),
        ("sum", "@m_axi", "memory", 64, 1),
        ("sum", "@m_axis", "axis", 64, 1),
    }


def test_signals_join_what_no_stream_does(demo):
    signals = {(k.source, k.sink): k.bits for k in structure(demo).links if not k.is_stream}
    assert signals == {
        ("registers", "unit"): 16,
        ("registers", "sum"): 2,
        ("sum", "registers"): 8,
    }


def test_ports_are_without_plain_signals(demo):
    assert [port.name for port in structure(demo).ports] == ["s_axil", "words", "m_axi", "m_axis"]


def test_buses_streams_and_signals_of_a_component():
    seen = [
        (i.title, i.kind, i.role, i.count, i.data_bits, i.details)
        for i in interfaces(Demo(DemoParams()))
    ]
    assert seen == [
        ("s_axil", "AXI4-Lite", "subordinate", 1, 32, "3-bit addresses"),
        ("words_0..1", "stream", "sink", 2, 40, ""),
        ("m_axi", "AXI4", "manager", 1, 64, "12-bit addresses, 2-bit IDs"),
        ("m_axis", "AXI4-Stream", "source", 1, 64, "1-bit tuser"),
        ("irq", "signal", "output", 1, 1, ""),
    ]


def test_names_and_data_of_arrays():
    words = interfaces(Demo(DemoParams()))[1]
    assert words.names == ("words_0", "words_1")
    assert words.forward == ("payload",)
    from amaranth.lib import stream, wiring
    from amaranth.lib.wiring import In, Out

    inner = wiring.Signature(
        {
            "done": Out(stream.Signature(0)),
            "memory": In(AxiReadSignature(address_bits=8, data_bits=32)).array(2),
        }
    )
    done, memory, off = interfaces(Component(None, {"x": Out(inner), "off": In(1).array(2, 2)}))
    assert (done.name, done.forward, done.role) == ("x_done", ("valid",), "source")
    assert (memory.names, memory.forward) == (("x_memory_0", "x_memory_1"), ("araddr",))
    assert memory.kind == "AXI4, reads only"
    assert off.names == ("off_0_0", "off_0_1", "off_1_0", "off_1_1")
    assert (off.count, off.role) == (4, "input")
