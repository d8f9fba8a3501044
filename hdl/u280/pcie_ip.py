"""Describes the IP of PCI Express: a DMA engine, or a bridge between host memory and AXI."""

from dataclasses import replace

from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.u280.axi_wires import bus_ports
from hdl.u280.vendor import VendorIp, VendorPort

USER_MHZ = 250  #: clock of the user's side of PCI Express: that of Gen3 x16 and 512 bits
LANES = 16
ADDRESS_BITS = 64
DATA_BITS = 512
ID_BITS = 4
INTERRUPTS = 1
UNDER_WAY = 32  #: most reads, and writes, that a bridge's slave takes (PG194, Slave Bridge)
BRIDGE_ID = "1E60"  #: device: none of those that a driver of AMD's claims

MEMORY_BUS = Axi4Signature(address_bits=ADDRESS_BITS, data_bits=DATA_BITS, id_bits=ID_BITS)
REGISTER_BUS = AxiLiteSignature(address_bits=32)
MASTER_EXTRAS = ("lock", "cache", "prot")
SLAVE_EXTRAS = ("region",)

#: sets what both forms share: Gen3 x16 in the block beside quads 224 to 227
LINK = (
    ("mode_selection", "Advanced"),
    ("pcie_blk_locn", "PCIE4C_X1Y0"),
    ("en_gt_selection", "true"),
    ("select_quad", "GTY_Quad_227"),
    ("pl_link_cap_max_link_width", "X16"),
    ("pl_link_cap_max_link_speed", "8.0_GT/s"),
    ("ref_clk_freq", "100_MHz"),
    ("plltype", "QPLL1"),
    ("coreclk_freq", "500"),
    ("axisten_freq", f"{USER_MHZ}"),
    ("axi_addr_width", "64"),
    ("axi_data_width", "512_bit"),
    ("PCIE_BOARD_INTERFACE", "Custom"),
    ("SYS_RST_N_BOARD_INTERFACE", "Custom"),
    # By default the card says that it is a serial port.
    ("pf0_base_class_menu", "Memory_controller"),
    ("pf0_sub_class_interface_menu", "Other_memory_controller"),
    ("pf0_class_code_base", "05"),
    ("pf0_class_code_sub", "80"),
    ("pf0_class_code_interface", "00"),
    ("pf0_interrupt_pin", "NONE"),
    ("xdma_num_usr_irq", str(INTERRUPTS)),
)


def link_ports() -> tuple[VendorPort, ...]:
    """List the ports of pins, clock, reset and interrupts."""

    def port(name: str, direction: str, bits: int = 1, unused: bool = False) -> VendorPort:
        return VendorPort(name=name, direction=direction, bits=bits, unused=unused)

    return (
        port("sys_clk", "input"),
        port("sys_clk_gt", "input"),
        port("sys_rst_n", "input"),
        port("user_lnk_up", "output", unused=True),
        port("pci_exp_rxp", "input", LANES),
        port("pci_exp_rxn", "input", LANES),
        port("pci_exp_txp", "output", LANES),
        port("pci_exp_txn", "output", LANES),
        port("axi_aclk", "output"),
        port("axi_aresetn", "output"),
        port("usr_irq_req", "input", INTERRUPTS),
        port("usr_irq_ack", "output", INTERRUPTS),
    )


#: moves host memory to ``m_axi_*`` and back by DMA; registers through ``m_axil_*``
DMA = VendorIp(
    name="pcie_dma",
    vlnv="xilinx.com:ip:xdma:4.1",
    config=(
        ("functional_mode", "DMA"),
        *LINK,
        ("pf0_device_id", "903F"),  # AMD's driver, which knows the DMA engines, looks for it
        ("xdma_axi_intf_mm", "AXI_Memory_Mapped"),
        ("xdma_rnum_chnl", "2"),
        ("xdma_wnum_chnl", "2"),
        ("axilite_master_en", "true"),
        ("axilite_master_scale", "Megabytes"),
        ("axilite_master_size", "1"),
        ("cfg_mgmt_if", "false"),
        ("pf0_msi_enabled", "false"),
        ("pf0_msix_enabled", "true"),
    ),
    ports=(
        *link_ports(),
        *bus_ports("m_axi_", "master", MEMORY_BUS, extras=MASTER_EXTRAS),
        *bus_ports("m_axil_", "master", REGISTER_BUS),
    ),
)

#: gives registers through ``m_axib_*``; ``s_axib_*`` is host memory, at its own addresses
BRIDGE = VendorIp(
    name="pcie_bridge",
    vlnv="xilinx.com:ip:xdma:4.1",
    config=(
        ("functional_mode", "AXI_Bridge"),
        *LINK,
        ("pf0_device_id", BRIDGE_ID),
        # Accesses of host memory under way: all that the bridge takes, of 8 by default.
        ("c_s_axi_num_read", str(UNDER_WAY)),
        ("c_s_axi_num_write", str(UNDER_WAY)),
        ("en_axi_slave_if", "true"),
        ("xdma_axilite_slave", "true"),
        ("c_s_axi_supports_narrow_burst", "false"),
        ("axibar_num", "1"),
        ("axibar_highaddr_0", "0xFFFFFFFFFFFFFFFF"),
        ("axibar2pciebar_0", "0x0000000000000000"),
        ("pf0_bar0_enabled", "true"),
        ("pf0_bar0_64bit", "false"),
        ("pf0_bar0_scale", "Megabytes"),
        ("pf0_bar0_size", "1"),
        ("pciebar2axibar_0", "0x0000000000000000"),
        # MSI has no table. That of MSI-X would take the BAR's first 64 KB (PG194, "Bar Indicator").
        ("pf0_msi_enabled", "true"),
        ("pf0_msix_enabled", "false"),
    ),
    ports=(
        *link_ports(),
        *bus_ports("m_axib_", "master", MEMORY_BUS, extras=MASTER_EXTRAS),
        *bus_ports("s_axib_", "slave", MEMORY_BUS, extras=SLAVE_EXTRAS),
        # Those of its own registers, which nobody reads here.
        *(
            replace(port, unused=port.direction == "output")
            for port in bus_ports("s_axil_", "slave", REGISTER_BUS)
        ),
    ),
)
