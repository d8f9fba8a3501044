from xml.etree import ElementTree as ET

from amaranth.lib.wiring import In, Out, Signature

from gen.base.emission.emit import emit
from gen.ip.ipxact import SPIRIT, buses, component_xml
from hdl.common.axi import Axi4Signature, AxiWriteSignature
from tests.gen.board.sample import Core, CoreParams

NS = {"s": SPIRIT}
#: the order that the standard's schema asks for
ORDER = [
    "vendor",
    "library",
    "name",
    "version",
    "busInterfaces",
    "addressSpaces",
    "memoryMaps",
    "model",
    "fileSets",
    "description",
    "parameters",
    "vendorExtensions",
]


def test_buses_of_a_signature():
    result = {bus.name: bus for bus in buses(Core(CoreParams()).signature)}
    assert list(result) == ["s_axil", "m_axi_words_0", "m_axi_words_1", "m_axis", "s_axis"]
    assert [bus.master for bus in result.values()] == [False, True, True, True, False]
    words = result["m_axi_words_1"]
    assert words.ports["ARADDR"] == "m_axi_words_1_araddr"
    assert (words.ports["ARID"], words.ports["RID"]) == (
        "m_axi_words_1_arid",
        "m_axi_words_1_rid",
    )
    assert words.parameters["ID_WIDTH"] == 1
    assert words.parameters["READ_WRITE_MODE"] == "READ_ONLY"
    assert (words.parameters["DATA_WIDTH"], words.address_bits) == (256, 33)
    assert result["s_axil"].parameters["PROTOCOL"] == "AXI4LITE"
    assert result["m_axis"].parameters == {
        **{"TDATA_NUM_BYTES": 64, "TUSER_WIDTH": 1},
        **{"HAS_TKEEP": 1, "HAS_TLAST": 1, "HAS_TREADY": 1},
    }


def test_a_flipped_bus_inside_out():
    full = Axi4Signature(address_bits=20, data_bits=32, id_bits=3)
    write = AxiWriteSignature(address_bits=20, data_bits=32)
    members = {"s": In(full), "t": Out(full.flip()), "n": In(full.flip()), "m": Out(write)}
    result = list(buses(Signature(members)))
    sides = [(bus.name, bus.master) for bus in result]
    assert sides == [("s", False), ("t", False), ("n", True), ("m", True)]
    assert result[0].parameters["ID_WIDTH"] == 3
    assert result[3].parameters["READ_WRITE_MODE"] == "WRITE_ONLY"


def test_document():
    core = emit(Core(CoreParams())).top
    text = component_xml(core, ["rtl/core.v"], about="a < b", mhz=250)
    root = ET.fromstring(text)
    assert [child.tag.partition("}")[2] for child in root] == ORDER
    assert root.findtext("s:name", "", NS) == "core"
    assert root.findtext("s:description", "", NS) == "a < b"
    names = [bus.findtext("s:name", "", NS) for bus in root.iterfind(".//s:busInterface", NS)]
    assert names[-3:] == ["clk", "rst", "irq"]
    assert "ACTIVE_HIGH" in text
    assert "LEVEL_HIGH" in text
    clock = next(b for b in root.iterfind(".//s:busInterface", NS) if b[0].text == "clk")
    values = {p[0].text: p[1].text for p in clock.iterfind(".//s:parameter", NS)}
    assert values == {
        "ASSOCIATED_BUSIF": ":".join(names[:-3]),
        "ASSOCIATED_RESET": "rst",
        "FREQ_HZ": "250000000",
    }
    spaces = [e[0].text for e in root.iterfind(".//s:addressSpace", NS)]
    maps = [e[0].text for e in root.iterfind(".//s:memoryMap", NS)]
    assert (spaces, maps) == (["m_axi_words_0", "m_axi_words_1"], ["s_axil"])
    block = root.find(".//s:addressBlock", NS)
    assert block is not None
    assert block.findtext("s:range", "", NS) == "4096"  # 256 bytes of registers
    identities = [e.get(f"{{{SPIRIT}}}id") for e in root.iter() if e.get(f"{{{SPIRIT}}}id")]
    assert len(identities) == len(set(identities))
