"""Tests what a table of an IP finds, and the tables themselves against every top of a card."""

import pytest

from gen.base.errors import UserError
from gen.board.ip_table import FOLDER, FUNCTIONS, names_of, read_table
from hdl.u280.pcie_ip import BRIDGE
from hdl.u280.vendor import VendorIp, VendorPort

TABLE = """
ip = "switch"
versions = ["2.1"]
guide = "PG000"

[property]
ID_WIDTH = { default = "0", range = [0, 32], source = "table 1" }
"S{nn}_THREAD_ID_WIDTH" = { n = [0, 15], default = "0", range = [0, 32], source = "table 2" }
PROTOCOL = { default = "AXI4", values = ["AXI4", "AXI4LITE"], source = "table 1" }
BASE = { form = "hex", source = "table 3" }

[port]
aclk = { direction = "input", source = "table 4" }
s_axi_awid = { direction = "input", bits = "ID_WIDTH", when = "PROTOCOL == 'AXI4' and \
max_of('S{nn}_THREAD_ID_WIDTH', 2) > 0", required = false, source = "table 5" }
s_axi_rid = { direction = "output", bits = "ID_WIDTH", when = "PROTOCOL == 'AXI4' and \
S00_THREAD_ID_WIDTH > 0", source = "table 5" }
based = { direction = "input", when = "BASE % 16 == 0", required = false, source = "table 6" }
"irq_{n}" = { n = [0, 1], direction = "output", bits = "{n} + 1", source = "table 6" }

[[rule]]
holds = "ID_WIDTH >= S00_THREAD_ID_WIDTH"
why = "identifiers would be cut"
source = "table 1"

[sources]
"table 1" = "somewhere"
"""


@pytest.fixture
def table(tmp_path):
    (tmp_path / "switch.toml").write_text(TABLE)
    return read_table(tmp_path / "switch.toml")


def port(name, direction="input", bits=1):
    return VendorPort(name=name, direction=direction, bits=bits)


CLOCK, ID = port("aclk"), port("s_axi_rid", "output", 4)
IDS = {"ID_WIDTH": "4", "S00_THREAD_ID_WIDTH": "4"}


@pytest.mark.parametrize(
    ("config", "ports", "result"),
    [
        (IDS, [CLOCK, ID, port("irq_1", "output", 2)], []),
        ({}, [CLOCK], []),
        ({"ID_BITS": "4"}, [CLOCK], ["switch has no property ID_BITS (PG000)"]),
        ({"S16_THREAD_ID_WIDTH": "4"}, [CLOCK], ["switch has no property S16_THREAD_ID_WIDTH"]),
        ({"ID_WIDTH": "33"}, [CLOCK], ["ID_WIDTH cannot be 33 (table 1)"]),
        ({"PROTOCOL": "axi4"}, [CLOCK], ["PROTOCOL cannot be axi4 (table 1)"]),
        ({"BASE": "ten"}, [CLOCK], ["BASE cannot be ten (table 3)"]),
        ({"S00_THREAD_ID_WIDTH": "4"}, [CLOCK], ["identifiers would be cut (ID_WIDTH >="]),
        # The crossbar of a card, as it was once: wide identifiers that no port has.
        ({"ID_WIDTH": "4"}, [CLOCK, ID], ["there is no port s_axi_rid unless PROTOCOL =="]),
        (IDS | {"ID_WIDTH": "6"}, [CLOCK, ID], ["s_axi_rid has 6 bits, not 4: ID_WIDTH"]),
        (IDS, [CLOCK, port("s_axi_rid", bits=4)], ["s_axi_rid is an output (table 5)"]),
        (IDS, [CLOCK, port("s_axi_bid")], ["switch has no port s_axi_bid (PG000)"]),
        (IDS, [ID], ["input aclk is left open (table 4)"]),
        ({}, [CLOCK, port("based")], ["BASE has no default: set it"]),
        ({"BASE": "0x10"}, [CLOCK, port("based")], []),
        ({}, [CLOCK, port("irq_1", "output")], ["irq_1 has 2 bits, not 1: 1 + 1 (table 6)"]),
    ],
)
def test_what_is_not_as_the_guide_says(table, config, ports, result):
    ip = VendorIp(name="x", vlnv="xilinx.com:ip:switch:2.1", ports=tuple(ports))
    lines = list(table.check(ip, config))
    assert len(lines) == len(result)
    for line, start in zip(lines, result, strict=True):
        assert line.startswith(f"x: {start}")


def test_a_table_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "switch.toml"
    path.write_text(TABLE.replace('default = "AXI4"', 'defualt = "AXI4"'))
    with pytest.raises(UserError, match=r"switch\.toml: .*defualt"):
        read_table(path)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_table_can_be_evaluated(path):
    """Each default is an allowed value, and each rule is of properties that exist."""
    known = read_table(path)
    assert known.ip == path.stem
    for name, item in known.properties.items():
        assert item.default is None or item.allows(item.default), name
    for item in known.ports.values():
        assert item.direction in ("input", "output", "inout")
    texts = [text for item in known.ports.values() for text in (item.when, item.bits)]
    for text in (*texts, *(rule.holds for rule in known.rule)):
        assert set(names_of(text)) <= {*known.properties, *FUNCTIONS}, text


@pytest.mark.parametrize("name", ["c_s_axi_num_read", "c_s_axi_num_write"])
@pytest.mark.parametrize("value", [None, "8"])
def test_a_bridge_that_takes_few_accesses_of_host_memory_is_detected(name, value):
    known = read_table(FOLDER / "xdma.toml")
    config = dict(BRIDGE.config)
    assert list(known.check(BRIDGE, config)) == []
    del config[name]
    if value:
        config[name] = value
    (line,) = known.check(BRIDGE, config)
    assert line.startswith("pcie_bridge: a SNIC keeps up to 128 reads and 128 writes")
