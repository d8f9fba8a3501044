"""Says how a board's parts are wired, as its documentation has it: the table of its netlist."""

from tests.hdl.netlist_bench import Table

#: clock and reset of a domain
DOMAINS = {
    "": ("core_clock.clk_out1", "sync_reset.reset"),
    "manager_": ("pcie.user_clk", "pcie_reset.reset"),
    "apb_": ("board_clocks.clk_out2", "apb_reset.reset"),
    "hbm_": ("board_clocks.clk_out1", "hbm_reset.reset"),
}


LINK = ("pcie", "pcie_reset", "interrupt", "interrupt_level")  #: what is in the link's clock
#: the resets of the same domains beside the cages
IN_CAGES = {"": "reset_to_cages.o", "apb_": "cages_apb_reset.reset"}


def board_table(board, ways, resets=True):
    """Return what all boards have, and the ``ways`` of packets.

    There is a way for each cage and class; it names the core's streams out and in. ``resets`` says
    whether a reset of PCI Express resets the core, too.
    """
    table = Table(board)
    memory = "memory.hot" in table.driven
    add_clocks(table, memory, resets=resets)
    add_pins(table, memory)
    for cage, classes in enumerate(ways):
        for k, (out, into) in enumerate(classes):
            add_output_path(table, out, f"to_mac_{cage}_{k}", f"mac_{cage}.transmit_{k}")
            add_input_path(table, f"mac_{cage}.receive_{k}", f"of_mac_{cage}_{k}", into)
        add_cage(table, cage)
    add_bus(table, "registers_0", "core.s_axil")
    add_bus(table, "registers_1", "board_status.axil")
    level = "board_status.irq"
    if crosses(table):
        table.wire(interrupt_level={"i": level})
        level = "interrupt_level.o"
    table.wire(interrupt={"level": level, "ack": "pcie.irq_ack"}, pcie={"irq": "interrupt.request"})
    add_memory_status(table, memory)
    return table


def crosses(table):
    """Return whether the core has a clock of its own."""
    return "core_clock.clk_out1" in table.driven


def add_bus(table, bus, slave):
    """Add a bus of PCI Express, which crosses to the core's clock if that is another one."""
    path = f"pcie.{bus.removeprefix('dma_')}"
    if crosses(table):
        table.bus(path, f"{bus}.i")
        path = f"{bus}.o"
    table.bus(path, slave)


def switch_table(board, ways):
    """Return the table of a switch's board that has no use of the host's memory."""
    table = board_table(board, ways, resets=False)
    table.bus("pcie.rq", "nobody")
    table.bus("pcie.rc", "nobody")
    table.wire(pcie={"function_done": "pcie.function_in_process"})
    table.wire(board_status={"request": 0})
    return table


def add_clocks(table, memory, cages=True, resets=True):
    domain_of = {"apb_reset": "apb_", "hbm_reset": "hbm_", "hbm_ports_reset": "hbm_"}
    domain_of["cages_apb_reset"] = "apb_"
    domains = dict(DOMAINS)
    if crosses(table):
        domain_of |= dict.fromkeys(LINK, "manager_")
        table.wire(
            core_clock={"clk_in1": "board_clocks.clk_out2", "reset": "~board_clocks.locked"},
            sync_reset={"i": f"~core_clock.locked{' | pcie.user_reset' if resets else ''}"},
            pcie_reset={"i": "pcie.user_reset"},
        )
    else:
        domains[""] = ("pcie.user_clk", "sync_reset.reset")
        table.wire(sync_reset={"i": "pcie.user_reset"})
    for path in table.seen:
        instance, _, port = path.partition(".")
        domain = port.removesuffix("clk").removesuffix("rst")
        if port in ("clk", "rst"):
            domain = domain_of.get(instance, "")
        clock, reset = domains.get(domain, ("", ""))
        if instance.startswith(("mac_", "of_mac_", "counts_of_", "cages_")):
            reset = IN_CAGES.get(domain, "")
        if port.endswith(("clk", "rst")) and clock:
            table.add(path, clock if port.endswith("clk") else reset)
    table.wire(
        apb_reset={"i": "~board_clocks.locked"},
    )
    if cages:
        table.wire(
            reset_to_cages={"i": "sync_reset.reset"},
            cages_apb_reset={"i": "~board_clocks.locked"},
        )
    if memory:
        table.wire(
            hbm_reset={"i": "~(board_clocks.locked & memory.complete)"},
            hbm_ports_reset={"i": "~board_clocks.locked"},
            memory={"reset": "hbm_ports_reset.reset"},
        )


def add_pins(table, memory):
    table.wire(
        pins={
            "hbm_cattrip": "memory.hot" if memory else 0,
            "pcie_tx_p": "pcie.tx_p",
            "pcie_tx_n": "pcie.tx_n",
        },
        board_clocks={"clk_in1_p": "pins.clk_100mhz_0_p", "clk_in1_n": "pins.clk_100mhz_0_n"},
        pcie={
            "refclk_p": "pins.pcie_refclk_1_p",
            "refclk_n": "pins.pcie_refclk_1_n",
            "reset_n": "pins.pcie_reset_n",
            "rx_p": "pins.pcie_rx_p",
            "rx_n": "pins.pcie_rx_n",
        },
    )


def add_output_path(table, axis, path, mac):
    """Add the way out: a packet that the core marks as broken loses its last beat's first byte."""
    whole = f"(({axis}_tkeep & 1) & ~({axis}_tuser & {axis}_tlast))"
    keep = f"({axis}_tkeep & ~1 | {whole})"
    payload = f"{axis}_tdata | {keep} << 512 | {axis}_tlast << 576"
    table.wire(**{path: {"i_payload": payload, "i_valid": f"{axis}_tvalid"}})
    table.add(f"{axis}_tready", f"{path}.i_ready")
    add_end(table, path, mac)


def add_input_path(table, mac, path, axis):
    payload = f"{mac}_tdata | {mac}_tkeep << 512 | {mac}_tlast << 576"
    table.wire(**{path: {"i_payload": payload, "i_valid": f"{mac}_tvalid"}})
    table.add(f"{mac}_tready", f"{path}.i_ready")
    add_end(table, path, axis)


def add_end(table, path, axis):
    """Add the end of a way, where no packet is marked as broken."""
    table.add(f"{axis}_tdata", f"{path}.o_payload")
    table.add(f"{axis}_tkeep", f"{path}.o_payload >> 512")
    table.add(f"{axis}_tlast", f"{path}.o_payload >> 576")
    table.add(f"{axis}_tuser", 0)
    table.add(f"{axis}_tvalid", f"{path}.o_valid")
    table.add(f"{path}.o_ready", f"{axis}_tready")


def add_cage(table, k):
    """Add a MAC's pins, and what registers tell it and show of it."""
    mac, pins = f"mac_{k}", f"pins.qsfp{k}"
    for pole in "pn":
        table.add(f"{mac}.refclk_{pole}", f"{pins}_mgt_refclk_1_{pole}")
        table.add(f"{mac}.rx_{pole}", f"{pins}_rx_{pole}")
        table.add(f"{pins}_tx_{pole}", f"{mac}.tx_{pole}")
    table.add(f"{pins}_refclk_oe_b", 0)
    table.add(f"{pins}_refclk_fs", 1)
    table.add(f"{mac}.settings", f"board_status.settings_{k}")
    table.add(f"{mac}.demands", f"board_status.demands_{k}")
    table.add(f"levels_of_{mac}.i", f"{mac}.levels")
    if f"{mac}.paused" in table.driven:  # priorities, which the core holds and pauses
        table.add(f"{mac}.pause", f"core.pause_{k}")
        table.add(f"pauses_of_{mac}.i", f"{mac}.paused")
        table.add(f"core.paused_{k}", f"pauses_of_{mac}.o")
        if k:  # both cages' links
            table.add("core.down", "(~levels_of_mac_0.o & 1) | (~levels_of_mac_1.o & 1) << 1")
    table.add(f"board_status.levels_{k}", f"levels_of_{mac}.o")
    route = f"counts_of_{mac}"
    counts = [path for path in table.driven if path.startswith(f"{mac}.counts_")]
    parts, low = [], 0
    for number in range(len(counts)):
        parts.append(f"{mac}.counts_{number} << {low}")
        arrived = f"({route}.o_payload >> {low}) * {route}.o_valid"
        table.add(f"board_status.counts_{k}_{number}", arrived)
        low += table.driven[f"{mac}.counts_{number}"]
    table.add(f"{route}.i_payload", " | ".join([*parts, f"{mac}.cuts << {low}"]))
    table.add(f"{route}.i_valid", 1)
    table.add(f"{route}.o_ready", 1)
    table.add(f"board_status.cuts_{k}", f"({route}.o_payload >> {low}) * {route}.o_valid")


def add_memory_status(table, memory):
    shown = {"memory_ready": "memory_level.o" if memory else 0}
    for k in range(2):
        shown[f"temperature_{k}"] = f"memory.temperature_{k}" if memory else 0
    table.wire(board_status=shown)
    if memory:
        table.wire(memory_level={"i": "memory.complete"})
