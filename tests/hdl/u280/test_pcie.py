from hdl.u280.pcie import PcieBridge, PcieDma, PcieParams
from tests.hdl.netlist_bench import Table


def link_table(link):
    """Return the table of pins, clock, reset, interrupt and decoder, which both forms have."""
    table = Table(link)
    table.wire(
        refclk={"I": "pins.refclk_p", "IB": "pins.refclk_n", "CEB": 0},
        ip={
            "sys_clk": "refclk.ODIV2",
            "sys_clk_gt": "refclk.O",
            "sys_rst_n": "pins.reset_n",
            "pci_exp_rxp": "pins.rx_p",
            "pci_exp_rxn": "pins.rx_n",
            "usr_irq_req": "pins.irq",
        },
        pins={
            "tx_p": "ip.pci_exp_txp",
            "tx_n": "ip.pci_exp_txn",
            "user_clk": "ip.axi_aclk",
            "user_reset": "~ip.axi_aresetn",
            "irq_ack": "ip.usr_irq_ack",
        },
    )
    for path in table.seen:
        if path.endswith("aclk"):
            table.add(path, "ip.axi_aclk")
        if path.endswith("aresetn"):
            table.add(path, "ip.axi_aresetn")
    table.buses("decoder.m_axi", ["pins.registers_0", "pins.registers_1"])
    return table


def test_wires_of_dma(tmp_path):
    table = link_table(PcieDma(PcieParams(register_bits=12, model_bits=14)))
    table.bus("ip.m_axil", "decoder.s_axi")
    table.bus("ip.m_axi", "memories.s_axi")
    table.buses("memories.m_axi", ["hbm_width.s_axi", "model_width.s_axi"])
    table.bus("model_width.m_axi", "pins.model")
    table.bus("hbm_width.m_axi", "hbm_bursts.s_axi")
    table.bus("hbm_bursts.m_axi", "pins.hbm")
    table.check(tmp_path)


def test_wires_of_a_bridge(tmp_path):
    table = link_table(PcieBridge(PcieParams(register_bits=12)))
    table.bus("ip.m_axib", "width.s_axi")
    table.bus("width.m_axi", "lite.s_axi")
    table.bus("lite.m_axi", "decoder.s_axi")
    table.bus("pins.host", "ip.s_axib")
    table.bus("ip.s_axil", "nobody")
    table.check(tmp_path)
