from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.u280.axi_ip import crossbar, to_axi3, to_lite, width_converter

WIDE = Axi4Signature(address_bits=64, data_bits=512, id_bits=4)
PLAIN = Axi4Signature(address_bits=64, data_bits=256, id_bits=0)


def widths(ip):
    return {port.name: port.bits for port in ip.ports}


def test_a_decoder_has_its_slaves_side_by_side():
    ip = crossbar("decoder", AxiLiteSignature(address_bits=32), [(0, 12), (0x10000, 14)])
    config, ports = dict(ip.config), widths(ip)
    assert (config["NUM_MI"], config["PROTOCOL"]) == ("2", "AXI4LITE")
    assert (config["M01_A00_BASE_ADDR"], config["M01_A00_ADDR_WIDTH"]) == (
        "0x0000000000010000",
        "14",
    )
    assert (ports["s_axi_awaddr"], ports["m_axi_awaddr"], ports["m_axi_rvalid"]) == (32, 64, 2)
    assert "s_axi_awcache" not in ports


def test_identifiers_end_at_a_width_converter():
    ports = widths(width_converter("narrow", WIDE, 256))
    assert (ports["s_axi_wdata"], ports["m_axi_wdata"]) == (512, 256)
    assert "s_axi_awid" in ports
    assert "m_axi_awid" not in ports


def test_axi3_has_short_bursts():
    ports = widths(to_axi3("short", PLAIN))
    assert (ports["s_axi_arlen"], ports["m_axi_arlen"], ports["m_axi_arlock"]) == (8, 4, 2)


def test_lite_has_no_bursts():
    ports = widths(to_lite("lite", Axi4Signature(address_bits=64, data_bits=32, id_bits=0)))
    assert "m_axi_arlen" not in ports
    assert ports["m_axi_rdata"] == 32
