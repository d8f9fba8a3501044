from hdl.u280.pcie_ip import BRIDGE, DMA, LINK


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
