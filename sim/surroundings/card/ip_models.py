"""Writes models of the vendor's IP, under the names by which a top places them.

Each is made from the configuration that Vivado would make the IP from, with the ports of its
product guide, around a model of its behaviour (the ``.sv`` files of this folder).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from gen.base.emission.emit import module_name
from hdl.u280.clock_ip import HBM_MHZ
from hdl.u280.vendor import VendorIp
from sim.harness.payloads import pack
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, AxiRamParams
from sim.surroundings.card.ip_ports import IpPort, axi, inputs, outputs
from sim.surroundings.hbm_refresh import Refresh

FOLDER = Path(__file__).parent
SOURCES = (*sorted(FOLDER.glob("*.sv")), RAM_ARRAY)
STACKS = AxiRamParams(address_bits=33, data_bits=256, id_bits=6, array="hbm_array")
REFRESH = Refresh(clock_mhz=HBM_MHZ)  #: of all ports of a card at once
HOST = AxiRamParams(address_bits=34, data_bits=512, id_bits=4)  #: 16 GB of the host's addresses
RAMS = (AxiRam(STACKS), AxiRam(HOST))  #: modules that the models place
HOST_BASE = 0xA5_C000_0000  #: where a host has its memory

CLOCK = inputs("aclk", "aresetn")
CMAC_PORTS = [
    *inputs("gt_ref_clk_p", "gt_ref_clk_n", "init_clk", "sys_reset", "rx_clk"),
    *inputs("gt_rxp_in", "gt_rxn_in", bits=4),
    *outputs("gt_txp_out", "gt_txn_out", bits=4),
    *outputs("gt_txusrclk2", "usr_tx_reset", "usr_rx_reset", "stat_rx_aligned"),
    *outputs("stat_rx_status", "stat_rx_local_fault", "stat_rx_remote_fault"),
    *outputs("stat_rx_block_lock", "stat_rx_synced", bits=20),
    *outputs(*(f"stat_rx_rsfec_am_lock{k}" for k in range(4))),
    *outputs("stat_rx_rsfec_lane_alignment_status", "stat_rx_rsfec_hi_ser"),
    *outputs("stat_rx_rsfec_corrected_cw_inc", "stat_rx_rsfec_uncorrected_cw_inc"),
    *outputs("tx_unfout", "tx_ovfout"),
    *inputs("ctl_tx_enable", "ctl_tx_send_rfi", "ctl_tx_send_idle", "ctl_tx_send_lfi"),
    *inputs("ctl_tx_test_pattern", "core_tx_reset", "gtwiz_reset_tx_datapath"),
    *inputs("ctl_rx_enable", "ctl_rx_force_resync", "ctl_rx_test_pattern", "core_rx_reset"),
    *inputs("gtwiz_reset_rx_datapath", "ctl_rsfec_ieee_error_indication_mode"),
    *inputs("ctl_tx_rsfec_enable", "ctl_rx_rsfec_enable"),
    *inputs("ctl_rx_rsfec_enable_correction", "ctl_rx_rsfec_enable_indication"),
    *inputs("gt_loopback_in", bits=12),
    *inputs("tx_preamblein", bits=56),
    *inputs("core_drp_reset", "drp_clk", "drp_en", "drp_we"),
    *inputs("drp_addr", bits=10),
    *inputs("drp_di", bits=16),
    *inputs("tx_axis_tdata", bits=512),
    *inputs("tx_axis_tkeep", bits=64),
    *inputs("tx_axis_tlast", "tx_axis_tuser", "tx_axis_tvalid"),
    *outputs("tx_axis_tready"),
    *outputs("rx_axis_tdata", bits=512),
    *outputs("rx_axis_tkeep", bits=64),
    *outputs("rx_axis_tlast", "rx_axis_tuser", "rx_axis_tvalid"),
]
FRAMES = ("gcp", "pcp", "gpp", "ppp")  #: control and pause, global (g) and by priority (p)
PAUSE_SENDER_PORTS = [
    *inputs("ctl_tx_pause_req", "ctl_tx_pause_enable", bits=9),
    *inputs(*(f"ctl_tx_pause_quanta{k}" for k in range(9)), bits=16),
    *inputs(*(f"ctl_tx_pause_refresh_timer{k}" for k in range(9)), bits=16),
    *inputs("ctl_tx_resend_pause"),
]
PAUSE_RECEIVER_PORTS = [
    *inputs("ctl_rx_pause_ack", "ctl_rx_pause_enable", bits=9),
    *inputs(*(f"ctl_rx_enable_{frame}" for frame in FRAMES)),
    *inputs(
        *(
            f"ctl_rx_check_{what}_{frame}"
            for frame in FRAMES
            for what in ("etype", "mcast", "ucast", "sa", "opcode")
        )
    ),
    *outputs("stat_rx_pause_req", bits=9),
]
QUANTA = ("ctl_tx_pause_quanta", "ctl_tx_pause_refresh_timer")  #: settings of nine priorities each
PAUSE_CORE_PORTS = [
    *inputs("ctl_tx_pause_req", "ctl_tx_pause_enable", "ctl_rx_pause_ack", bits=9),
    *inputs("ctl_rx_pause_enable", bits=9),
    *inputs("ctl_tx_resend_pause", "ctl_rx_enable_pcp", "ctl_rx_enable_ppp"),
    *inputs("ctl_rx_check_etype_pcp", "ctl_rx_check_mcast_pcp"),
    *inputs("ctl_rx_check_etype_ppp", "ctl_rx_check_mcast_ppp", "ctl_rx_check_opcode_ppp"),
    *outputs("stat_rx_pause_req", bits=9),
]


def model_of(ip: VendorIp) -> str:
    """Return the Verilog of module ``ip.name``."""
    kind = ip.vlnv.split(":")[2]
    config = dict(ip.config)
    if kind == "xdma":
        return dma(ip) if config["functional_mode"] == "DMA" else bridge(ip)
    models = {
        "pcie4c_uscale_plus": block,
        "hbm": hbm,
        "cmac_usplus": cmac,
        "clk_wiz": clocks,
        "axi_crossbar": crossbar,
        "axi_dwidth_converter": width_converter,
        "axi_protocol_converter": protocol_converter,
    }
    return models[kind](ip)


def module(ip: VendorIp, ports: Sequence[IpPort], body: str) -> str:
    """Return a module's Verilog, without the outputs that the top leaves open."""
    unused = {port.name for port in ip.ports if port.unused}
    shown = [port.text for port in ports if port.name not in unused]
    hidden = [f"  logic [{port.bits - 1}:0] {port.name};" for port in ports if port.name in unused]
    quiet = "/* verilator lint_off UNDRIVEN */"
    return "\n".join(
        [quiet, f"module {ip.name} (", ",\n".join(shown), ");", *hidden, body, "endmodule\n"]
    )


def placed(
    core: str,
    has: Sequence[IpPort],
    needs: Sequence[IpPort],
    parameters: Mapping[str, object],
    ties: Mapping[str, int] | None = None,
) -> str:
    """Return an instance of ``core``; signals that the IP lacks are ``ties``, or zero."""
    names = {port.name for port in has}
    lines = []
    for port in needs:
        if port.name not in names:
            value = "" if port.output else f" = {port.bits}'d{(ties or {}).get(port.name, 0)}"
            lines.append(f"  wire [{port.bits - 1}:0] {port.name}{value};")
    provided = ", ".join(f".{name}({value})" for name, value in parameters.items())
    pins = {port.name: port.name for port in needs}
    pins |= {f"s_axi_{port.name}": port.name for port in CLOCK}  # as only the IP calls them
    wires = ", ".join(f".{pins[port.name]}({port.name})" for port in needs)
    return "\n".join([*lines, f"  {core} #({provided}) core ({wires});"])


def number(text: str) -> int:
    """Return the number that a property's text is: decimal or hexadecimal."""
    return int(text, 0)


def clocks(ip: VendorIp) -> str:
    """Model a clock generator (PG065)."""
    config = dict(ip.config)
    source = [*inputs("clk_in1_p", "clk_in1_n")]
    body = []
    if config["PRIM_SOURCE"] != "Differential_clock_capable_pin":
        source = inputs("clk_in1")
        body = ["  wire clk_in1_p = clk_in1, clk_in1_n = ~clk_in1;"]
    reset = inputs("reset") if config["USE_RESET"] == "true" else []
    outs = [f"clk_out{k}" for k in range(1, int(config.get("NUM_OUT_CLKS", "1")) + 1)]
    ports = [*source, *reset, *outputs(*outs, "locked")]
    rates = {"IN_MHZ": config["PRIM_IN_FREQ"]} | {
        f"OUT{k + 1}_MHZ": config[f"CLKOUT{k + 1}_REQUESTED_OUT_FREQ"] for k in range(len(outs))
    }
    needs = [
        *inputs("clk_in1_p", "clk_in1_n", "reset"),
        *outputs("clk_out1", "clk_out2", "locked"),
    ]
    has = [*ports, *inputs("clk_in1_p", "clk_in1_n")]
    return module(ip, ports, "\n".join([*body, placed("card_clocks", has, needs, rates)]))


def cmac(ip: VendorIp) -> str:
    """Model a 100G MAC (PG203); it has ports of pauses if flow control is on."""
    config = dict(ip.config)
    parameters = {
        "REFERENCE_MHZ": config["GT_REF_CLK_FREQ"],
        "INIT_MHZ": config["GT_DRP_CLK"],
        "CHECK_ACK": config.get("RX_CHECK_ACK", "1"),
    }
    ports, tables = list(CMAC_PORTS), {}
    if config.get("TX_FLOW_CONTROL", "1") == "1":
        ports += PAUSE_SENDER_PORTS
        tables = {
            name: f"{{{', '.join(f'{name}{k}' for k in reversed(range(9)))}}}" for name in QUANTA
        }
    if config.get("RX_FLOW_CONTROL", "1") == "1":
        ports += PAUSE_RECEIVER_PORTS
    needs = [*CMAC_PORTS, *PAUSE_CORE_PORTS, *inputs(*QUANTA, bits=144)]
    lines = [f"  wire [143:0] {name} = {value};" for name, value in tables.items()]
    has = [*ports, *inputs(*tables)]
    return module(ip, ports, "\n".join([*lines, placed("card_cmac", has, needs, parameters)]))


def hbm(ip: VendorIp) -> str:
    """Model HBM (PG276): a port for each 256 MB, each of which reaches all of both stacks."""
    config = dict(ip.config)
    ports: list[IpPort] = []
    lines = [
        "  logic [7:0] card;",
        "  initial begin card_stacks::cards++; card = 8'(card_stacks::cards); end",
    ]
    for stack in range(int(config["USER_HBM_STACK"])):
        ports += inputs(f"HBM_REF_CLK_{stack}", f"APB_{stack}_PCLK", f"APB_{stack}_PRESET_N")
        ports += outputs(f"apb_complete_{stack}", f"DRAM_{stack}_STAT_CATTRIP")
        ports += outputs(f"DRAM_{stack}_STAT_TEMP", bits=7)
        lines.append(
            f"  card_stack #(.REFERENCE_MHZ({config[f'USER_HBM_REF_CLK_{stack}']}),"
            f" .APB_MHZ({config[f'USER_APB_PCLK_{stack}']}), .DEGREES({40 + stack}))"
            f" stack_{stack} (.reference(HBM_REF_CLK_{stack}), .pclk(APB_{stack}_PCLK),"
            f" .preset_n(APB_{stack}_PRESET_N), .complete(apb_complete_{stack}),"
            f" .cattrip(DRAM_{stack}_STAT_CATTRIP), .degrees(DRAM_{stack}_STAT_TEMP));"
        )
    enabled = [k for k in range(32) if config[f"USER_SAXI_{k:02}"] == "true"]
    open_ports = {port.name for port in ip.ports if port.unused}
    for k in enabled:
        ports += hbm_ports(k)
        if f"AXI_{k:02}_RVALID" in open_ports:
            lines.append(silent_port(k))
        else:
            lines.append(hbm_port(k, config["USER_AXI_INPUT_CLK_FREQ"]))
    # By port: whether a burst left the four channels of the port's own switch, which all reach at
    # full rate (PG276, "switch"), or read what was never written.
    for name, flag in (("lateral", "far_{}"), ("unwritten", "missing_{} != 0")):
        bits = ", ".join(flag.format(k) if k in enabled else "1'b0" for k in reversed(range(32)))
        lines.append(f"  wire [31:0] {name} /* verilator public_flat_rd */ = {{{bits}}};")
    return module(ip, ports, "\n".join([*lines, PEEK]))


#: lets a simulation look at a word of 32 bytes that was written; zero if it never was
PEEK = """
  logic [27:0] peek /* verilator public_flat_rw */ = 0;
  logic [255:0] peeked /* verilator public_flat_rd */;
  wire [39:0] peek_key = {card, 32'(peek)};
  always @(posedge HBM_REF_CLK_0)
    peeked <= card_stacks::words.exists(peek_key) != 0 ? card_stacks::words[peek_key] : '0;"""


def hbm_ports(k: int) -> list[IpPort]:
    """Return the ports of HBM's AXI port ``k``: upper case, without WID."""
    prefix = f"AXI_{k:02}_"
    bus = axi("", master=False, address=33, data=256, identifier=6, kind="AXI3")
    return [
        *inputs(f"{prefix}ACLK", f"{prefix}ARESET_N"),
        *inputs(f"{prefix}WDATA_PARITY", bits=32),
        *outputs(f"{prefix}RDATA_PARITY", bits=32),
        *(
            IpPort(name=prefix + port.name.upper(), output=port.output, bits=port.bits)
            for port in bus
        ),
    ]


def silent_port(k: int) -> str:
    """Return HBM's AXI port ``k`` if it is not used: nobody may ask it for anything."""
    demands = " | ".join(f"AXI_{k:02}_{channel}VALID" for channel in ("AR", "AW", "W"))
    return f"""
  wire far_{k} = 0;
  wire [31:0] missing_{k} = 0;
  always @(posedge AXI_{k:02}_ACLK) if ({demands}) $fatal(1, "%m: port {k} is not listened to");"""


def hbm_port(k: int, mhz: str) -> str:
    """Return what is behind HBM's AXI port ``k``: nothing moves before the set-up is complete."""
    prefix = f"AXI_{k:02}_"
    bus = axi("", master=False, address=33, data=256, identifier=6, kind="AXI3")
    gates = ("arvalid", "awvalid", "arready", "awready")
    wires = [
        f".axi_{port.name}({prefix}{port.name.upper()})"
        for port in bus
        if port.name not in (*gates, "arlen", "awlen")
    ]
    for channel in ("ar", "aw"):
        upper = prefix + channel.upper()
        wires += [
            f".axi_{channel}len(8'({upper}LEN))",
            f".axi_{channel}valid({upper}VALID & going_{k})",
            f".axi_{channel}ready(ready_{channel}_{k})",
        ]
    return f"""
  wire good_{k}, ready_ar_{k}, ready_aw_{k};
  card_clock_check #(.MHZ({mhz})) check_{k} (.clk({prefix}ACLK), .good(good_{k}));
  wire going_{k} = apb_complete_0 & apb_complete_1 & good_{k};
  assign {prefix}ARREADY = ready_ar_{k} & going_{k};
  assign {prefix}AWREADY = ready_aw_{k} & going_{k};
  assign {prefix}RDATA_PARITY = '0;
  logic far_{k} = 0;
  wire [31:0] missing_{k}, lost_{k};
  {module_name(AxiRam(STACKS))} port_{k} (.clk({prefix}ACLK), .rst(~{prefix}ARESET_N),
    .index(card), .settings({settings(STACKS, 60, 40, REFRESH)}), .dump(1'b0),
    .missing(missing_{k}), .lost(lost_{k}), {", ".join(wires)});
  always @(posedge {prefix}ACLK)
    if ({prefix}ARVALID & {prefix}ARREADY & ({prefix}ARADDR[32:30] != {k // 4})
        | {prefix}AWVALID & {prefix}AWREADY & ({prefix}AWADDR[32:30] != {k // 4})) far_{k} <= 1;"""


def settings(params: AxiRamParams, read: int, write: int, refresh: Refresh | None = None) -> str:
    """Return a memory's latencies, in cycles, some stalls, and its refresh if it has one."""
    fields = {"read_latency": read, "write_latency": write, "seed": 1}
    fields |= refresh.fields if refresh else {}
    fields |= {f"{name}_stall": 10 for name in ("ar", "r", "aw", "w", "b")}
    shape = params.settings
    zeros = {name: 0 for name in shape.members if name not in fields}
    return f"{shape.size}'d{pack(shape, fields | zeros)}"


def link_ports(irqs: int) -> list[IpPort]:
    """Return ports that both forms of XDMA have (PG195): pins, clock, reset, interrupts."""
    return [
        *inputs("sys_clk", "sys_clk_gt", "sys_rst_n"),
        *outputs("user_lnk_up"),
        *inputs("pci_exp_rxp", "pci_exp_rxn", bits=16),
        *outputs("pci_exp_txp", "pci_exp_txn", bits=16),
        *outputs("axi_aclk", "axi_aresetn"),
        *inputs("usr_irq_req", bits=irqs),
        *outputs("usr_irq_ack", bits=irqs),
    ]


def link(config: Mapping[str, str], ports: Sequence[IpPort]) -> str:
    """Return the instance that both forms of XDMA share, and what the host drives.

    The host acts at the edges of a clock that is a picosecond ahead, and what it says counts from
    the falling edge on: it hears what stood before the edge, and is heard after it.
    """
    rate = {"REFERENCE_MHZ": config["ref_clk_freq"].removesuffix("_MHz")}
    core = placed("card_pcie", ports, link_ports(1), rate)
    return "\n".join([core, host_says(ports, "axi_aclk")])


def host_says(ports: Sequence[IpPort], clock: str) -> str:
    """Return how what the host says reaches the ports, from the falling edge of ``clock`` on."""
    lines = []
    for port in ports:
        if port.host and port.output:
            said = f"{port.name}_said"
            bits = 1 if port.name.endswith("tready") else port.bits  # all bits of it are the same
            value = f"{{{port.bits // bits}{{{said}}}}}"
            lines += [
                f"  logic [{bits - 1}:0] {said} /* verilator public_flat_rw */ = 0;",
                f"  always @(negedge {clock}) {port.name} <= {value};",
            ]
    return "\n".join(lines)


#: Lists inputs of the bare block that are told nothing here (PG213), and what each must be.
BLOCK_TIED = [
    (port, value)
    for value, bits, names in (
        (1, 2, "pcie_cq_np_req"),
        (1, 1, "cfg_power_state_change_ack cfg_link_training_enable cfg_config_space_enable"),
        (0, 1, "cfg_mgmt_write cfg_mgmt_read cfg_mgmt_debug_access cfg_msg_transmit"),
        (0, 1, "cfg_err_cor_in cfg_err_uncor_in cfg_vf_flr_done cfg_hot_reset_in"),
        (0, 1, "cfg_req_pm_transition_l23_ready cfg_pm_aspm_l1_entry_reject"),
        (0, 1, "cfg_pm_aspm_tx_l0s_entry_disable cfg_interrupt_msi_tph_present"),
        (0, 2, "cfg_interrupt_msi_tph_type cfg_interrupt_msix_vec_pending"),
        (0, 3, "cfg_msg_transmit_type cfg_fc_sel cfg_interrupt_msi_attr"),
        (0, 4, "cfg_mgmt_byte_enable cfg_interrupt_int cfg_interrupt_pending"),
        (0, 5, "cfg_ds_device_number"),
        (0, 8, "cfg_mgmt_function_number cfg_vf_flr_func_num cfg_ds_port_number"),
        (0, 8, "cfg_ds_bus_number cfg_interrupt_msi_function_number cfg_interrupt_msi_tph_st_tag"),
        (0, 10, "cfg_mgmt_addr"),
        (0, 32, "cfg_mgmt_write_data cfg_msg_transmit_data"),
        (0, 64, "cfg_dsn"),
    )
    for port in inputs(*names.split(), bits=bits)
]
BLOCK_LINK = [
    *inputs("sys_clk", "sys_clk_gt", "sys_reset"),
    *inputs("pci_exp_rxp", "pci_exp_rxn", bits=16),
    *outputs("pci_exp_txp", "pci_exp_txn", bits=16),
    *outputs("user_clk", "user_reset"),
    *inputs("cfg_interrupt_msi_int", bits=8),
    *inputs("cfg_interrupt_msix_int"),
    *outputs("cfg_interrupt_msi_sent", "cfg_interrupt_msi_fail"),
    *outputs("cfg_interrupt_msix_enable", bits=4),
]
#: widths of tuser, and whether the stream goes to the block
BLOCK_STREAMS = {"rq": (137, True), "rc": (161, False), "cq": (183, False), "cc": (81, True)}


def block_stream(name: str, user: int, to_block: bool) -> list[IpPort]:
    """Return the ports of a stream of 512 bits of the bare block (PG213)."""
    prefix = f"{'s' if to_block else 'm'}_axis_{name}_"
    forward = {"tdata": 512, "tkeep": 16, "tlast": 1, "tuser": user, "tvalid": 1}
    ready = IpPort(name=f"{prefix}tready", output=to_block, bits=4 if to_block else 1, host=True)
    return [
        *(
            IpPort(name=prefix + signal, output=not to_block, bits=bits, host=True)
            for signal, bits in forward.items()
        ),
        ready,
    ]


def block(ip: VendorIp) -> str:
    """Model the bare block (PG213): the simulation's host drives its streams and its words.

    Its clock is the host's too, while the reference runs. MSI-X is the block's own, and sent after
    some cycles. An input without a use is what it should be, or the simulation ends.
    """
    config = dict(ip.config)
    if config["MSI_X_OPTIONS"] != "MSI-X_Internal" or config["axisten_if_width"] != "512_bit":
        raise ValueError(f"{ip.name}: only 512 bits with MSI-X of the block's own are modelled")
    ports = [
        *BLOCK_LINK,
        *(port for port, _ in BLOCK_TIED),
        *(item for name, of in BLOCK_STREAMS.items() for item in block_stream(name, *of)),
        *(
            IpPort(name=name, output=True, bits=bits, host=True)
            for name, bits in (
                *((f"pcie_rq_seq_num{k}", 6) for k in range(2)),
                *((f"pcie_rq_seq_num_vld{k}", 1) for k in range(2)),
                ("pcie_tfc_nph_av", 4),
                ("cfg_max_payload", 2),
                ("cfg_max_read_req", 3),
                ("cfg_function_status", 16),
                ("cfg_flr_in_process", 4),
            )
        ),
        IpPort(name="cfg_flr_done", output=False, bits=4, host=True),
    ]
    wrong = " || ".join(f"{port.name} != {value}" for port, value in BLOCK_TIED)
    check = f"""  always @(posedge user_clk)
    if (!user_reset && ({wrong})) $fatal(1, "%m: an unused input is not what it should be");"""
    rate = {"REFERENCE_MHZ": config["REF_CLK_FREQ"].removesuffix("_MHz")}
    core = placed("card_pcie_block", ports, BLOCK_LINK, rate)
    return module(ip, ports, "\n".join([core, host_says(ports, "user_clk"), check]))


MASTER_EXTRAS = ("lock", "cache", "prot")


def dma(ip: VendorIp) -> str:
    """Model XDMA's AXI4 memory mapped DMA (PG195): the simulation's host drives both masters."""
    config = dict(ip.config)
    data = number(config["axi_data_width"].removesuffix("_bit"))
    ports = [
        *link_ports(number(config["xdma_num_usr_irq"])),
        *axi(
            "m_axi_",
            master=True,
            address=number(config["axi_addr_width"]),
            data=data,
            identifier=4,
            extras=MASTER_EXTRAS,
            host=True,
        ),
        *axi("m_axil_", master=True, address=32, data=32, kind="AXI4LITE", host=True),
    ]
    return module(ip, ports, link(config, ports))


def bridge(ip: VendorIp) -> str:
    """Model XDMA's bridge mode (PG194): BAR 0 leads to ``m_axib``, ``s_axib`` to host memory.

    The simulation's host memory lies from HOST_BASE on. Bytes that a burst writes are without a gap
    from the first to the last, as the guide wants.
    """
    config = dict(ip.config)
    data = number(config["axi_data_width"].removesuffix("_bit"))
    address = number(config["axi_addr_width"])
    slave = axi(
        "s_axib_", master=False, address=address, data=data, identifier=4, extras=("region",)
    )
    ports = [
        *link_ports(number(config["xdma_num_usr_irq"])),
        *axi(
            "m_axib_",
            master=True,
            address=address,
            data=data,
            identifier=4,
            extras=MASTER_EXTRAS,
            host=True,
        ),
        *slave,
        *axi("s_axil_", master=False, address=32, data=32, kind="AXI4LITE"),
    ]
    wires = [
        f".axi_{port.name.removeprefix('s_axib_')}({port.name})"
        for port in slave
        if not port.name.endswith(("addr", "region"))
    ]
    memory = f"""
  logic [7:0] index;
  initial begin card_hosts::hosts++; index = 8'(card_hosts::hosts); end
  localparam logic [63:0] BASE = 64'd{HOST_BASE + number(config["axibar2pciebar_0"])};
  wire [63:0] read_at = s_axib_araddr - BASE, write_at = s_axib_awaddr - BASE;
  wire [31:0] missing /* verilator public_flat_rd */, lost /* verilator public_flat_rd */;
  logic dump /* verilator public_flat_rw */ = 0;
  {module_name(AxiRam(HOST))} memory (.clk(axi_aclk), .rst(~axi_aresetn), .index,
    .settings({settings(HOST, 100, 100)}), .dump, .missing, .lost,
    .axi_araddr(read_at[33:0]), .axi_awaddr(write_at[33:0]), {", ".join(wires)});
  always @(posedge axi_aclk)
    if (axi_aresetn && (s_axib_arvalid && read_at[63:34] != 0
                        || s_axib_awvalid && write_at[63:34] != 0))
      $fatal(1, "%m: no host memory at %h or %h", s_axib_araddr, s_axib_awaddr);
{msix_window(config)}
  card_write_check #(.DATA({data})) check (.clk(axi_aclk), .valid(s_axib_wvalid & s_axib_wready),
    .last(s_axib_wlast), .strobes(s_axib_wstrb));"""
    return module(ip, ports, link(config, ports) + memory)


def msix_window(config: Mapping[str, str]) -> str:
    """Return the part of BAR 0 that a bridge keeps (PG194, "PCIe Miscellaneous Tab")."""
    if config.get("pf0_msix_enabled", "false") != "true":
        return ""
    if config.get("pf0_msix_impl_locn", "Internal") != "Internal":
        return ""
    return """  always @(posedge axi_aclk)
    if (m_axib_arvalid && m_axib_araddr < 65536 || m_axib_awvalid && m_axib_awaddr < 65536)
      $fatal(1, "%m: the first 64 KB of BAR 0 are those of MSI-X");"""


def crossbar(ip: VendorIp) -> str:
    """Model an AXI crossbar (PG059); it returns an identifier's THREAD_ID_WIDTH lower bits."""
    config = dict(ip.config)
    count, address = number(config["NUM_MI"]), number(config["ADDR_WIDTH"])
    kind, data = config["PROTOCOL"], number(config.get("DATA_WIDTH", "32"))
    identifier = number(config.get("ID_WIDTH", "0"))
    lite = kind == "AXI4LITE"

    def sides(kind: str, identifier: int, extras: bool) -> list[IpPort]:
        slave = ("lock", "cache", "prot", "qos") if extras else ("prot",)
        master = (*slave, "region") if extras else slave
        side = partial(axi, address=address, data=data, identifier=identifier, kind=kind)
        return [
            *CLOCK,
            *side("s_axi_", master=False, extras=slave),
            *side("m_axi_", master=True, extras=master, count=count),
        ]

    ports = sides(kind, identifier, extras=not lite)
    bases = [f"64'd{number(config[f'M{k:02}_A00_BASE_ADDR'])}" for k in reversed(range(count))]
    widths = [f"32'd{config[f'M{k:02}_A00_ADDR_WIDTH']}" for k in reversed(range(count))]
    parameters = {
        "ADDRESS": address,
        "DATA": data,
        "ID": max(1, identifier),
        "THREAD": number(config.get("S00_THREAD_ID_WIDTH", "0")),
        "COUNT": count,
        "BASE": f"{{{', '.join(bases)}}}",
        "WIDTH": f"{{{', '.join(widths)}}}",
    }
    needs = sides("AXI4", max(1, identifier), extras=False)
    ties = {"s_axi_wlast": 1, "m_axi_rlast": (1 << count) - 1}
    return module(ip, ports, placed("axi_decoder", ports, needs, parameters, ties))


CONVERTER_EXTRAS = ("lock", "cache", "prot", "region", "qos")


def width_converter(ip: VendorIp) -> str:
    """Model an AXI data width converter (PG059)."""
    config = dict(ip.config)
    wide, narrow = number(config["SI_DATA_WIDTH"]), number(config["MI_DATA_WIDTH"])
    return converter(ip, "s_axi_", wide, narrow, number(config["SI_ID_WIDTH"]), config["PROTOCOL"])


def protocol_converter(ip: VendorIp) -> str:
    """Model an AXI protocol converter (PG059)."""
    config = dict(ip.config)
    data = number(config["DATA_WIDTH"])
    return converter(ip, "", data, data, number(config["ID_WIDTH"]), config["MI_PROTOCOL"])


def converter(ip: VendorIp, prefix: str, wide: int, narrow: int, identifier: int, kind: str) -> str:
    """Model a converter from AXI4 of ``wide`` beats to ``kind`` of ``narrow`` beats without
    identifiers.

    ``prefix`` is that of clock and reset.
    """
    clock = inputs(*(f"{prefix}{port.name}" for port in CLOCK))
    address = number(dict(ip.config)["ADDR_WIDTH"])
    beats = {"AXI4": 256, "AXI3": 16, "AXI4LITE": 1}[kind]
    extras = CONVERTER_EXTRAS if kind == "AXI4" else ("lock", "cache", "prot", "qos")
    slave = partial(axi, "s_axi_", master=False, address=address, data=wide)
    master = partial(axi, "m_axi_", master=True, address=address, data=narrow)
    ports = [
        *clock,
        *slave(identifier=identifier, extras=CONVERTER_EXTRAS),
        *master(kind=kind, extras=extras),
    ]
    bits = max(1, identifier)
    needs = [*clock, *slave(identifier=bits), *master()]
    parameters = {"ADDRESS": address, "SI": wide, "MI": narrow, "ID": bits, "BEATS": beats}
    parameters["LEN"] = 4 if kind == "AXI3" else 8
    return module(ip, ports, placed("axi_converter", ports, needs, parameters, {"m_axi_rlast": 1}))
