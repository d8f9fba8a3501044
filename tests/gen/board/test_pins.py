import pytest

from gen.base.emission.emit import Port
from gen.board.boards import find_board
from gen.board.pins import PROPERTIES, bits_of, pins_of, read_pins

TABLE = find_board("u280").constraints / "pins.csv"


def test_table_of_the_card():
    pins = read_pins(TABLE)
    assert len(pins) == 135
    assert pins["hbm_cattrip"].pin == "D32"
    assert pins["hbm_cattrip"].iostandard == "LVCMOS18"
    assert pins["pcie_reset_n"].properties == ("PULLUP", "TRUE")
    assert {p.port: p.properties for p in pins.values() if p.properties} == PROPERTIES
    transceivers = [p for p in pins.values() if p.site.startswith("MGT")]
    assert len(transceivers) == 2 * 2 * 8 + 64 + 8 + 8
    assert not any(p.iostandard for p in transceivers)
    assert all(p.iostandard for p in pins.values() if not p.site)


def test_pins_of_ports_bit_by_bit():
    ports = [Port("hbm_cattrip", "output", 1), Port("qsfp1_tx_p", "output", 4)]
    table = read_pins(TABLE)
    assert [pin.pin for pin in pins_of(ports, table)] == ["D32", "G48", "E48", "C48", "A49"]
    assert bits_of(Port("pcie_rx_p", "input", 1), table) == ["pcie_rx_p[0]"]
    assert bits_of(Port("led", "output", 2), table) == ["led[0]", "led[1]"]


@pytest.mark.parametrize("port", [Port("led", "output", 1), Port("qsfp1_tx_p", "output", 5)])
def test_a_port_without_a_pin(port):
    with pytest.raises(ValueError, match=r"no pin called (led|qsfp1_tx_p\[4\])"):
        pins_of([port], read_pins(TABLE))


@pytest.mark.parametrize(("row", "kind"), [("hbm_cattrip,A1,,", "port"), ("new,D32,,", "pin")])
def test_a_table_with_something_twice(row, kind, tmp_path):
    table = tmp_path / "pins.csv"
    table.write_text(TABLE.read_text().rstrip() + f"\n{row}\n")
    with pytest.raises(ValueError, match=rf"pins.csv: {kind} \w+ stands in it twice"):
        read_pins(table)
