from hdl.netsparse.params import SnicParams
from hdl.u280.cmac_ip import FCS_BYTES, MAC_MHZ, REFCLK_MHZ, TIED, cmac_ip


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
