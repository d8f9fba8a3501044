from hdl.u280.pcie import PcieParams
from hdl.u280.pcie_block import PcieBlock, PcieStreams
from hdl.u280.pcie_block_ip import TIED
from tests.hdl.netlist_bench import Table


def test_wires_of_the_bare_block(tmp_path):
    table = Table(PcieBlock())
    table.wire(
        refclk={"I": "pins.refclk_p", "IB": "pins.refclk_n", "CEB": 0},
        ip={
            "sys_clk": "refclk.ODIV2",
            "sys_clk_gt": "refclk.O",
            "sys_reset": "pins.reset_n",
            "pci_exp_rxp": "pins.rx_p",
            "pci_exp_rxn": "pins.rx_n",
            "cfg_interrupt_msi_int": "pins.msix_vector",
            "cfg_interrupt_msix_int": "pins.msix_send",
            "cfg_flr_done": "pins.function_done",
            **{name: value for name, (_, value) in TIED.items()},
        },
        pins={
            "tx_p": "ip.pci_exp_txp",
            "tx_n": "ip.pci_exp_txn",
            "user_clk": "ip.user_clk",
            "user_reset": "ip.user_reset",
            "limits": "ip.cfg_max_read_req | ip.cfg_max_payload << 3",
            "credits": "ip.pcie_tfc_nph_av",
            "numbers": " | ".join(
                f"(ip.pcie_rq_seq_num_vld{k} | ip.pcie_rq_seq_num{k} << 1) << {7 * k}"
                for k in range(2)
            ),
            "msix_enable": "ip.cfg_interrupt_msix_enable",
            "msix_sent": "ip.cfg_interrupt_msi_sent",
            "msix_failed": "ip.cfg_interrupt_msi_fail",
            "function_in_process": "ip.cfg_flr_in_process",
            "function_master": "ip.cfg_function_status >> 2",
        },
    )
    table.bus("pins.rq", "ip.s_axis_rq")
    table.bus("pins.cc", "ip.s_axis_cc")
    table.bus("ip.m_axis_rc", "pins.rc")
    table.bus("ip.m_axis_cq", "pins.cq")
    table.check(tmp_path)


def test_wires_of_streams_beside_registers(tmp_path):
    """The host's accesses reach the decoder by the completer; a request rises once."""
    table = Table(PcieStreams(PcieParams(register_bits=12)), clock="pins.clk")
    pins = ("refclk_p", "refclk_n", "reset_n", "rx_p", "rx_n")
    shown = ("tx_p", "tx_n", "user_clk", "user_reset", "limits", "credits", "numbers")
    table.clocks()
    table.wire(
        block={
            **{name: f"pins.{name}" for name in pins},
            "msix_vector": "interrupts.vector",
            "msix_send": "interrupts.send",
            "function_done": "pins.function_done",
        },
        pins={
            **{name: f"block.{name}" for name in shown},
            **{f"function_{name}": f"block.function_{name}" for name in ("in_process", "master")},
            "irq_ack": "block.msix_sent | block.function_in_process | interrupts.silent",
            "irq_late": "interrupts.late",
            "irq_silent": "interrupts.silent",
        },
        interrupts={
            "demands": f"pins.irq & ~{table.later('pins.irq')}",
            "enable": "block.msix_enable & block.function_master",
            "clear": "block.function_in_process",
            "sent": "block.msix_sent",
            "failed": "block.msix_failed",
        },
        timer={"limit": 4095},
        completer={"tick": "timer.tick"},
        decoder={"aclk": "block.user_clk", "aresetn": "~block.user_reset"},
    )
    table.bus("pins.rq", "block.rq")
    table.bus("block.rc", "pins.rc")
    table.bus("block.cq", "completer.cq")
    table.bus("completer.cc", "block.cc")
    table.bus("completer.axil", "decoder.s_axi")
    table.buses("decoder.m_axi", ["pins.registers_0", "pins.registers_1"])
    table.check(tmp_path)
