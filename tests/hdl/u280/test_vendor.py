"""Tests how the vendor's IP is described and placed: ports, settings, clocks of each IP."""

import pytest
from amaranth.hdl import Signal

from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.netsparse.params import SnicParams
from hdl.u280.axi_ip import crossbar, to_axi3, to_lite, width_converter
from hdl.u280.clock_ip import APB_MHZ, BOARD_CLOCKS, HBM_MHZ, REFCLK_BUFFER, core_clock
from hdl.u280.cmac_ip import FCS_BYTES, MAC_MHZ, REFCLK_MHZ, TIED, cmac_ip
from hdl.u280.hbm_ip import HBM_BUS, axi_wires, enabled_ports, hbm_ip
from hdl.u280.pcie_ip import BRIDGE, DMA, LINK
from hdl.u280.vendor import VendorIp, VendorPort
from tests.rejects import rejects

IP = VendorIp(
    name="thing",
    vlnv="xilinx.com:ip:thing:1.0",
    ports=(
        VendorPort(name="a", direction="input", bits=4),
        VendorPort(name="b", direction="output"),
        VendorPort(name="c", direction="output", bits=7, unused=True),
    ),
)


def test_places_all_that_is_used():
    instance = IP.place(a=Signal(4), b=Signal())
    assert instance.type == "thing"
    assert set(instance.ports) == {"a", "b"}


test_refuses = rejects(
    IP.place,
    ({"a": Signal(4)}, "thing: port b is not connected"),
    ({"a": Signal(3), "b": Signal()}, "thing: port a has 4 bits, its wire 3"),
    ({"a": Signal(4), "b": Signal(), "d": Signal()}, "thing has no port d"),
)


def test_stub_has_the_ports_in_use():
    assert "module thing (\n  input wire [3:0] a,\n  output wire [0:0] b\n);" in IP.stub


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


def test_frequencies_are_those_that_are_reported():
    config = dict(BOARD_CLOCKS.config)
    assert float(config["CLKOUT1_REQUESTED_OUT_FREQ"]) == HBM_MHZ
    assert float(config["CLKOUT2_REQUESTED_OUT_FREQ"]) == APB_MHZ


@pytest.mark.parametrize("mhz", [200, 225, 250, 280, 300, 325.0, 350])
def test_frequencies_of_a_pll_are_exact(mhz):
    """A PLL multiplies 100 MHz to 800, 900 ... 1500 and divides by whole numbers."""
    config = dict(core_clock(mhz).config)
    assert float(config["CLKOUT1_REQUESTED_OUT_FREQ"]) == mhz
    assert float(config["PRIM_IN_FREQ"]) == APB_MHZ


@pytest.mark.parametrize("mhz", [0, -250, 5, 251, 1600])
def test_a_frequency_that_no_pll_makes_is_refused(mhz):
    with pytest.raises(ValueError, match=f"core_mhz must be .*: {mhz}"):
        core_clock(mhz)


def test_a_cell_is_not_built():
    assert REFCLK_BUFFER.vlnv == ""


def test_ports_have_the_widths_of_their_ties():
    ports = {port.name: port for port in cmac_ip(0).ports}
    assert all(ports[name].bits == len(value) for name, value in TIED.items())
    assert (ports["tx_axis_tdata"].direction, ports["rx_axis_tdata"].direction) == (
        "input",
        "output",
    )


def test_clocks_go_together():
    assert MAC_MHZ == 2 * REFCLK_MHZ
    config = dict(cmac_ip(1).config)
    assert float(config["GT_REF_CLK_FREQ"]) == REFCLK_MHZ
    assert [config[f"LANE{k}_GT_LOC"] for k in (1, 2, 3, 4)] == ["X0Y44", "X0Y45", "X0Y46", "X0Y47"]


def test_the_longest_packet_of_a_snic_is_not_too_long():
    config = dict(cmac_ip(0).config)
    longest = SnicParams(mtu=9216).mtu + FCS_BYTES
    assert longest <= int(config["RX_MAX_PACKET_LEN"]) <= 16383
    assert config["RX_MIN_PACKET_LEN"] == "64"


@pytest.mark.parametrize(
    ("used", "enabled"),
    [([0, 3], (0, 3, 16)), ([20], (0, 20)), ([1, 31], (1, 31)), (range(32), tuple(range(32)))],
)
def test_each_stack_has_a_port(used, enabled):
    assert enabled_ports(used) == enabled


def test_configuration():
    config = dict(hbm_ip([2, 20]).config)
    assert config["USER_CLK_SEL_LIST0"] == "AXI_02_ACLK"
    assert config["USER_CLK_SEL_LIST1"] == "AXI_20_ACLK"
    assert [k for k in range(32) if config[f"USER_SAXI_{k:02}"] == "true"] == [2, 20]
    assert (config["USER_HBM_DENSITY"], config["USER_AXI_INPUT_CLK_FREQ"]) == ("8GB", "450")


def test_ports_are_wired_or_idle():
    ip = hbm_ip([0])
    clock, reset = Signal(), Signal()
    used = axi_wires(0, clock, reset, HBM_BUS.create())
    idle = axi_wires(16, clock, reset, None)
    stacks = {port.name: Signal(port.bits) for port in ip.ports if "AXI" not in port.name}
    assert set(ip.place(**used, **idle, **stacks).ports) >= {"AXI_00_RDATA", "AXI_16_ARVALID"}
    assert "AXI_16_RDATA" not in idle
    with pytest.raises(ValueError, match="hbm: port AXI_00_"):
        ip.place(**idle, **stacks)


def test_both_forms_have_the_same_link():
    for ip in (DMA, BRIDGE):
        config = dict(ip.config)
        assert len(config) == len(ip.config)
        assert dict(LINK).items() <= config.items()
        ports = {port.name: port for port in ip.ports}
        assert ports["pci_exp_txp"].bits == 16
        assert ports["axi_aclk"].direction == "output"


def test_buses_of_each_form():
    dma = {port.name: port for port in DMA.ports}
    bridge = {port.name: port for port in BRIDGE.ports}
    assert (dma["m_axi_wdata"].bits, dma["m_axil_wdata"].bits) == (512, 32)
    assert (bridge["m_axib_rdata"].direction, bridge["s_axib_rdata"].direction) == (
        "input",
        "output",
    )
    assert bridge["s_axil_rdata"].unused
