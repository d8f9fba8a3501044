"""Declares the registers of the board, beside those of the design."""

from dataclasses import dataclass

from hdl.common.register_parts import single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw
from hdl.u280.mac_signals import CLASSES, FEC_LANES, PCS_LANES, Loopback

IDENTITY = 0x55323830  #: "U280"
VERSION = 2
COUNT_BITS = 48
RARE_BITS = 12  #: width of a count of what is rare; it begins again at 0
BASE = 0x10000  #: address of these registers; those of the design are at 0
ADDRESS_BITS = 12


@dataclass(frozen=True, kw_only=True)
class BoardRegistersParams:
    """Says which parts of a board have registers."""

    cages: int  #: number of cages that are in use, 1 or 2
    hbm: bool  #: whether HBM is in use
    pauses: bool = False  #: whether cages have flow control

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all that the board has."""
        return f"{self.cages}" + "_hbm" * self.hbm + "_pauses" * self.pauses


def board_registers(params: BoardRegistersParams) -> RegisterMap:
    """Return the registers of links, memory, packets that a MAC lost, and the interrupt."""
    registers = [
        single(ro("board", 32, f"{IDENTITY:#x}"), "Identifies the board's registers."),
        single(ro("board_version", 32, str(VERSION)), "Version of this register map."),
        Register(
            "state",
            "Shows which links and memories work.",
            (
                ro("links", 2, "a bit for each cage in use: packets pass"),
                ro("memory_ready", 1, "HBM has been set up; reads wait until then"),
            ),
        ),
        Register(
            "interrupt",
            "The one interrupt to the host.",
            (
                rw("interrupt_enable", 1, "whether the design's request reaches the host"),
                ro("interrupt_request", 1, "the design's request: its level"),
            ),
        ),
        Register(
            "board_clear",
            "Commands; a field acts when it is written as one.",
            (pulse("clear_losses", "set the counters to 0"),),
        ),
    ]
    if params.hbm:
        registers.append(
            Register(
                "temperature",
                "HBM stacks' temperatures in degrees; one that changes just now may read wrong.",
                (ro("degrees_0", 7, "first stack"), ro("degrees_1", 7, "second stack")),
            )
        )
    for k in range(params.cages):
        registers += mac_registers(k)
        if params.pauses:
            registers += pause_registers(k)
    return RegisterMap(f"board_{params.suffix}", tuple(registers), ADDRESS_BITS)


def mac_registers(k: int) -> list[Register]:
    """Return the registers of settings, resets, status and counters of the MAC at cage ``k``."""
    return [
        Register(
            f"mac_settings_{k}",
            f"Settings of the MAC at cage {k}. A change resets both datapaths; the link is back"
            " after some milliseconds if both ends agree.",
            (
                rw(f"rsfec_{k}", 1, "RS-FEC (clause 91), both ways; as at the far end", init=1),
                rw(f"loopback_{k}", 2, "what is sent comes back; 3 as 0", enum=names_of(Loopback)),
            ),
        ),
        Register(
            f"mac_resets_{k}",
            f"Commands to the MAC at cage {k}. Packets inside are lost.",
            (
                pulse(f"reset_{k}", "reset all of it, its transceivers and their PLLs"),
                pulse(f"reset_transmit_{k}", "reset its transmit datapath"),
                pulse(f"reset_receive_{k}", "reset its receive datapath"),
            ),
        ),
        Register(
            f"mac_status_{k}",
            f"Status of the MAC at cage {k}, as its ports say; 0 without its reference clock.",
            (
                ro(f"linked_{k}", 1, "packets pass: aligned and received, no fault"),
                ro(f"aligned_{k}", 1, "the receiver has aligned its lanes"),
                ro(f"received_{k}", 1, "stat_rx_status: aligned, and few errors"),
                ro(f"local_fault_{k}", 1, "the receiver cannot receive; the far end is told"),
                ro(f"remote_fault_{k}", 1, "the far end says that it cannot receive"),
                ro(f"transmit_ready_{k}", 1, "the transmitter is not in reset"),
                ro(f"receive_ready_{k}", 1, "the receiver is not in reset"),
                ro(f"fec_aligned_{k}", 1, "RS-FEC has aligned all lanes"),
                ro(f"fec_locked_{k}", FEC_LANES, "RS-FEC has found each lane's markers"),
            ),
        ),
        Register(
            f"mac_lanes_{k}",
            f"Status of the receiver at cage {k}, a bit for each lane of the PCS.",
            (
                ro(f"block_locked_{k}", PCS_LANES, "blocks are found (stat_rx_block_lock)"),
                ro(f"synced_{k}", PCS_LANES, "lane markers are found (stat_rx_synced)"),
            ),
        ),
        *(
            single(ro(f"{name}_{k}", COUNT_BITS, unit), doc)
            for name, unit, doc in (
                ("dropped", "packets", f"Packets received at cage {k} that found no room."),
                ("broken", "packets", f"Packets received at cage {k} whose checksum was wrong."),
                (
                    "foreign",
                    "packets",
                    f"Packets received at cage {k} that were of no kind it takes.",
                ),
                ("corrected", "codewords", f"Codewords that RS-FEC has corrected at cage {k}."),
                (
                    "uncorrected",
                    "codewords",
                    f"Codewords that RS-FEC could not correct at cage {k}.",
                ),
                (
                    "symbol_errors",
                    "cycles",
                    f"Cycles with stat_rx_rsfec_hi_ser: too many wrong symbols at cage {k}.",
                ),
            )
        ),
        Register(
            f"mac_repairs_{k}",
            f"What was lost or repaired at cage {k}; counts begin again after the highest number.",
            (
                ro(f"watchdog_{k}", RARE_BITS, "resets of a receiver without alignment for 1 s"),
                ro(f"underflow_{k}", RARE_BITS, "resets of a transmitter that ran empty"),
                ro(f"overflow_{k}", RARE_BITS, "resets of a transmitter that ran over"),
                ro(f"cut_transmit_{k}", RARE_BITS, "packets to be sent that a reset has cut"),
                ro(f"cut_receive_{k}", RARE_BITS, "received packets that a reset has cut"),
            ),
        ),
    ]


def pause_registers(k: int) -> list[Register]:
    """Return the registers of counters of flow control at cage ``k``, of each class."""
    return [
        register
        for name in CLASSES
        for register in (
            single(
                ro(f"paused_{name}_{k}", COUNT_BITS, "grows all the time while they wait"),
                f"Cycles of 3.103 ns in which the far end of cage {k} has paused our {name}.",
            ),
            single(
                ro(f"pauses_{name}_{k}", COUNT_BITS, "pauses"),
                f"Pauses of {name} that were asked of the far end of cage {k}.",
            ),
        )
    ]
