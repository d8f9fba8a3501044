"""Describes the IP of the bare block for PCI Express: its streams, what it says and is told."""

from amaranth.utils import exact_log2

from hdl.pcie.axis import PcieStreamSignature, cc_user, cq_user, rc_user, rq_user
from hdl.pcie.interrupt_sender import BLOCK_VECTORS
from hdl.u280.axi_wires import bus_ports
from hdl.u280.pcie_ip import BRIDGE_ID, LANES, USER_MHZ
from hdl.u280.vendor import VendorIp, VendorPort

DATA_BITS = 512
BAR_MEGABYTES = 1  #: of BAR 0, where registers are
BAR_BITS = 20 + exact_log2(BAR_MEGABYTES)
FUNCTIONS = 4  #: that the block tells of, of which the first is ours
STATUS_BITS = 16  #: of what the block says of all functions
MASTER = 2  #: the bit of them by which the host lets our function send requests
READY_BITS = 4  #: of ``tready`` of RQ and CC, each of which says the same

#: Maps the block's streams to their signatures, as they are at the user's end.
STREAMS = {
    name: PcieStreamSignature(data_bits=DATA_BITS, user=user(DATA_BITS))
    for name, user in (("rq", rq_user), ("rc", rc_user), ("cq", cq_user), ("cc", cc_user))
}
TO_BLOCK = ("rq", "cc")

#: Maps inputs without a use here to their widths and to what they are told (PG213, "Configuration
#: Control Interface" and those of management, messages, flow control and legacy interrupts).
TIED = {
    "pcie_cq_np_req": (2, 0b01),  # another request that wants an answer may come, in each cycle
    "cfg_mgmt_addr": (10, 0),
    "cfg_mgmt_function_number": (8, 0),
    "cfg_mgmt_write": (1, 0),
    "cfg_mgmt_write_data": (32, 0),
    "cfg_mgmt_byte_enable": (4, 0),
    "cfg_mgmt_read": (1, 0),
    "cfg_mgmt_debug_access": (1, 0),
    "cfg_msg_transmit": (1, 0),
    "cfg_msg_transmit_type": (3, 0),
    "cfg_msg_transmit_data": (32, 0),
    "cfg_fc_sel": (3, 0),
    "cfg_dsn": (64, 0),
    "cfg_power_state_change_ack": (1, 1),
    "cfg_err_cor_in": (1, 0),
    "cfg_err_uncor_in": (1, 0),
    "cfg_vf_flr_func_num": (8, 0),
    "cfg_vf_flr_done": (1, 0),
    "cfg_link_training_enable": (1, 1),
    "cfg_config_space_enable": (1, 1),
    "cfg_req_pm_transition_l23_ready": (1, 0),
    "cfg_hot_reset_in": (1, 0),
    "cfg_ds_port_number": (8, 0),
    "cfg_ds_bus_number": (8, 0),
    "cfg_ds_device_number": (5, 0),
    "cfg_pm_aspm_l1_entry_reject": (1, 0),
    "cfg_pm_aspm_tx_l0s_entry_disable": (1, 0),
    "cfg_interrupt_int": (4, 0),
    "cfg_interrupt_pending": (4, 0),
    "cfg_interrupt_msi_function_number": (8, 0),
    "cfg_interrupt_msi_attr": (3, 0),
    "cfg_interrupt_msi_tph_present": (1, 0),
    "cfg_interrupt_msi_tph_type": (2, 0),
    "cfg_interrupt_msi_tph_st_tag": (8, 0),
    "cfg_interrupt_msix_vec_pending": (2, 0),
}


def port(name: str, direction: str, bits: int = 1) -> VendorPort:
    """Return a port of the block."""
    return VendorPort(name=name, direction=direction, bits=bits)


def stream_ports(name: str) -> tuple[VendorPort, ...]:
    """List the ports of a stream."""
    path, role = ("s", "slave") if name in TO_BLOCK else ("m", "master")
    ports = bus_ports(f"{path}_axis_{name}_", role, STREAMS[name])
    if name not in TO_BLOCK:
        return ports
    return tuple(
        port(item.name, item.direction, READY_BITS) if item.name.endswith("tready") else item
        for item in ports
    )


#: Gives RQ, RC, CQ and CC, Gen3 x16. BAR 0 has registers; BAR 2 is the block's own, with the table
#: of MSI-X and its pending bits, so that it hides no register.
BLOCK = VendorIp(
    name="pcie4c_block",
    vlnv="xilinx.com:ip:pcie4c_uscale_plus:1.0",
    config=(
        ("mode_selection", "Advanced"),
        ("pcie_blk_locn", "X1Y0"),
        ("en_gt_selection", "true"),
        ("select_quad", "GTY_Quad_227"),
        ("PL_LINK_CAP_MAX_LINK_WIDTH", f"X{LANES}"),
        ("PL_LINK_CAP_MAX_LINK_SPEED", "8.0_GT/s"),
        ("REF_CLK_FREQ", "100_MHz"),
        ("plltype", "QPLL1"),
        ("coreclk_freq", "500"),
        ("axisten_freq", f"{USER_MHZ}"),
        ("axisten_if_width", f"{DATA_BITS}_bit"),
        ("AXISTEN_IF_EXT_512_RC_STRADDLE", "true"),
        ("AXISTEN_IF_EXT_512_RC_4TLP_STRADDLE", "true"),
        ("AXISTEN_IF_EXT_512_RQ_STRADDLE", "false"),
        ("AXISTEN_IF_EXT_512_CQ_STRADDLE", "false"),
        ("AXISTEN_IF_EXT_512_CC_STRADDLE", "false"),
        ("axisten_if_enable_client_tag", "true"),
        ("extended_tag_field", "true"),
        ("PF0_DEV_CAP_FUNCTION_LEVEL_RESET_CAPABLE", "true"),
        ("pf0_dev_cap_max_payload", "1024_bytes"),
        ("PF0_DEVICE_ID", BRIDGE_ID),
        # By default the card says that it is a serial port.
        ("PF0_Use_Class_Code_Lookup_Assistant", "false"),
        ("PF0_CLASS_CODE", "058000"),
        ("PF0_INTERRUPT_PIN", "NONE"),
        ("pf0_bar0_enabled", "true"),
        ("pf0_bar0_type", "Memory"),
        ("pf0_bar0_64bit", "false"),
        ("pf0_bar0_prefetchable", "false"),
        ("pf0_bar0_scale", "Megabytes"),
        ("pf0_bar0_size", f"{BAR_MEGABYTES}"),
        ("pf0_bar1_enabled", "false"),
        ("pf0_bar2_enabled", "true"),
        ("pf0_bar2_type", "Memory"),
        ("pf0_bar2_64bit", "false"),
        ("pf0_bar2_prefetchable", "false"),
        ("pf0_bar2_scale", "Kilobytes"),
        ("pf0_bar2_size", "64"),
        ("pf0_msi_enabled", "false"),
        ("pf0_msix_enabled", "true"),
        ("MSI_X_OPTIONS", "MSI-X_Internal"),
        ("PF0_MSIX_CAP_TABLE_SIZE", f"{BLOCK_VECTORS - 1:03X}"),
        ("PF0_MSIX_CAP_TABLE_BIR", "BAR_2"),
        ("PF0_MSIX_CAP_TABLE_OFFSET", "00000000"),
        ("PF0_MSIX_CAP_PBA_BIR", "BAR_2"),
        ("PF0_MSIX_CAP_PBA_OFFSET", "00008000"),
    ),
    ports=(
        port("sys_clk", "input"),
        port("sys_clk_gt", "input"),
        port("sys_reset", "input"),
        *(port(f"pci_exp_rx{pole}", "input", LANES) for pole in "pn"),
        *(port(f"pci_exp_tx{pole}", "output", LANES) for pole in "pn"),
        port("user_clk", "output"),
        port("user_reset", "output"),
        *(item for name in STREAMS for item in stream_ports(name)),
        port("pcie_tfc_nph_av", "output", 4),
        port("cfg_max_read_req", "output", 3),
        port("cfg_max_payload", "output", 2),
        *(port(f"pcie_rq_seq_num{k}", "output", 6) for k in range(2)),
        *(port(f"pcie_rq_seq_num_vld{k}", "output") for k in range(2)),
        port("cfg_flr_in_process", "output", FUNCTIONS),
        port("cfg_flr_done", "input", FUNCTIONS),
        port("cfg_function_status", "output", STATUS_BITS),
        port("cfg_interrupt_msi_int", "input", BLOCK_VECTORS),
        port("cfg_interrupt_msix_int", "input"),
        port("cfg_interrupt_msi_sent", "output"),
        port("cfg_interrupt_msi_fail", "output"),
        port("cfg_interrupt_msix_enable", "output", FUNCTIONS),
        *(port(name, "input", bits) for name, (bits, _) in TIED.items()),
    ),
)
