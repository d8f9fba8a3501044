from gen.datasheet.interfaces import interfaces
from hdl.common.axi import AxiReadSignature
from hdl.common.component import Component
from tests.gen.datasheet.design import Demo, DemoParams


def test_buses_streams_and_signals_of_a_component():
    seen = [
        (i.title, i.kind, i.role, i.count, i.data_bits, i.details)
        for i in interfaces(Demo(DemoParams()))
    ]
    assert seen == [
        ("s_axil", "AXI4-Lite", "subordinate", 1, 32, "3-bit addresses"),
        ("words_0..1", "stream", "sink", 2, 40, ""),
        ("m_axi", "AXI4", "manager", 1, 64, "12-bit addresses, 2-bit IDs"),
        ("m_axis", "AXI4-Stream", "source", 1, 64, ""),
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
