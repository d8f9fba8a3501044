"""Describes the hardened 100G Ethernet MACs beside the QSFP28 cages."""

from amaranth.hdl import Const

from hdl.common.packets import MAX_MTU
from hdl.u280 import flow_control
from hdl.u280.mac_signals import FEC_LANES, PCS_LANES
from hdl.u280.vendor import VendorIp, VendorPort

CAGES = 2
LANES = 4
MAC_MHZ = 322.265625  #: clock of a MAC: a lane's 25.78125 Gb/s, 80 bits at a time
REFCLK_MHZ = 161.1328125
FIRST_LANE = (40, 44)  #: GTY channel X0Y.. of each cage's quad, 134 and 135
CORES = ("CMACE4_X0Y6", "CMACE4_X0Y7")  #: sites of the MACs, each beside the transceivers of a cage

LOOPBACK_BITS = 3  #: bits of ``gt_loopback_in`` for each lane
FCS_BYTES = 4

#: values of inputs that never change: no test, no register of the transceivers' own
TIED = {
    "ctl_rx_enable": Const(1, 1),
    "ctl_rx_force_resync": Const(0, 1),
    "ctl_rx_test_pattern": Const(0, 1),
    "core_rx_reset": Const(0, 1),
    "ctl_rsfec_ieee_error_indication_mode": Const(0, 1),
    "ctl_tx_test_pattern": Const(0, 1),
    "ctl_tx_send_lfi": Const(0, 1),
    "tx_preamblein": Const(0, 56),
    "core_drp_reset": Const(0, 1),
    "drp_clk": Const(0, 1),
    "drp_addr": Const(0, 10),
    "drp_di": Const(0, 16),
    "drp_en": Const(0, 1),
    "drp_we": Const(0, 1),
}

#: lists the inputs that switch RS-FEC
RSFEC_CONTROLS = (
    "ctl_tx_rsfec_enable",
    "ctl_rx_rsfec_enable",
    "ctl_rx_rsfec_enable_correction",
    "ctl_rx_rsfec_enable_indication",
)


def cmac_ip(cage: int, *, pauses: bool = False) -> VendorIp:
    """Describe the MAC of a cage, with its transceivers: 512-bit streams, RS-FEC.

    With ``pauses`` it sends and obeys the pauses of priority flow control, else none.
    """
    return VendorIp(
        name=f"cmac_{cage}",
        vlnv="xilinx.com:ip:cmac_usplus:3.1",
        config=properties(cage, pauses),
        ports=tuple(ports(pauses)),
    )


def properties(cage: int, pauses: bool) -> tuple[tuple[str, str], ...]:
    """Return the properties that the IP of a cage is made with."""
    lanes = [f"X0Y{FIRST_LANE[cage] + lane}" for lane in range(LANES)]
    return (
        ("CMAC_CAUI4_MODE", "1"),
        ("NUM_LANES", "4x25"),
        ("GT_REF_CLK_FREQ", "161.1328125"),
        ("USER_INTERFACE", "AXIS"),
        ("GT_DRP_CLK", "100.00"),
        ("TX_FLOW_CONTROL", str(int(pauses))),
        ("RX_FLOW_CONTROL", str(int(pauses))),
        *([("RX_CHECK_ACK", "1"), ("RX_FORWARD_CONTROL_FRAMES", "0")] if pauses else []),
        ("RX_MAX_PACKET_LEN", str(MAX_MTU + FCS_BYTES)),
        ("RX_MIN_PACKET_LEN", "64"),
        ("INCLUDE_RS_FEC", "1"),
        ("CMAC_CORE_SELECT", CORES[cage]),
        ("GT_GROUP_SELECT", f"{lanes[0]}~{lanes[-1]}"),
        *((f"LANE{k}_GT_LOC", lane) for k, lane in enumerate(lanes, 1)),
        ("ENABLE_PIPELINE_REG", "1"),
    )


def ports(pauses: bool) -> list[VendorPort]:
    """List the IP's ports that are used."""

    def port(name: str, direction: str, bits: int = 1) -> VendorPort:
        return VendorPort(name=name, direction=direction, bits=bits)

    result = [
        port("gt_ref_clk_p", "input"),
        port("gt_ref_clk_n", "input"),
        port("gt_rxp_in", "input", LANES),
        port("gt_rxn_in", "input", LANES),
        port("gt_txp_out", "output", LANES),
        port("gt_txn_out", "output", LANES),
        port("init_clk", "input"),
        port("sys_reset", "input"),
        port("gt_txusrclk2", "output"),
        port("rx_clk", "input"),
        port("usr_tx_reset", "output"),
        port("usr_rx_reset", "output"),
        port("gtwiz_reset_tx_datapath", "input"),
        port("gtwiz_reset_rx_datapath", "input"),
        port("gt_loopback_in", "input", LOOPBACK_BITS * LANES),
        *(port(name, "input") for name in RSFEC_CONTROLS),
        port("ctl_tx_enable", "input"),
        port("ctl_tx_send_rfi", "input"),
        port("ctl_tx_send_idle", "input"),
        port("core_tx_reset", "input"),
        port("tx_unfout", "output"),
        port("tx_ovfout", "output"),
        port("stat_rx_aligned", "output"),
        port("stat_rx_status", "output"),
        port("stat_rx_local_fault", "output"),
        port("stat_rx_remote_fault", "output"),
        port("stat_rx_block_lock", "output", PCS_LANES),
        port("stat_rx_synced", "output", PCS_LANES),
        *(port(f"stat_rx_rsfec_am_lock{k}", "output") for k in range(FEC_LANES)),
        port("stat_rx_rsfec_lane_alignment_status", "output"),
        port("stat_rx_rsfec_hi_ser", "output"),
        port("stat_rx_rsfec_corrected_cw_inc", "output"),
        port("stat_rx_rsfec_uncorrected_cw_inc", "output"),
        *(port(name, "input", len(value)) for name, value in TIED.items()),
    ]
    for name, bits in (("tdata", 512), ("tkeep", 64), ("tlast", 1), ("tuser", 1), ("tvalid", 1)):
        result += [
            port(f"tx_axis_{name}", "input", bits),
            port(f"rx_axis_{name}", "output", bits),
        ]
    result.append(port("tx_axis_tready", "output"))
    if pauses:
        result += [
            port("ctl_tx_pause_req", "input", flow_control.BUS),
            port("stat_rx_pause_req", "output", flow_control.BUS),
            port("ctl_rx_pause_ack", "input", flow_control.BUS),
            *(port(name, "input", len(value)) for name, value in flow_control.TIED.items()),
            *(port(name, "input", flow_control.BUS) for name in flow_control.ENABLES),
        ]
    return result
