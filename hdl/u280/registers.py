"""Declares the registers of the board, beside those of the design."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from hdl.common.params import Params, choice, whole
from hdl.common.register_parts import COMMANDS_DOC, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw
from hdl.u280.mac_signals import FEC_LANES, FLOWS, PCS_LANES, RARE_BITS, Loopback

IDENTITY = 0x55323830  #: "U280"
VERSION = 2
COUNT_BITS = 48
BASE = 0x10000  #: address of these registers; those of the design are at 0
ADDRESS_BITS = 12


MSIX_FIELDS = (
    ro(
        "interrupt_silent",
        1,
        "tells that for 50 ms no interrupt was sent, although one was requested: the block for"
        " PCI Express does not answer",
    ),
    ro(
        "interrupts_late",
        RARE_BITS,
        "counts how often this happened, since clear_losses; the counter wraps to 0 after the"
        " highest number",
    ),
)


class BoardRegistersParams(Params):
    """Says which parts of a board have registers."""

    cages: int = whole(1, 2)  #: number of cages that are in use
    hbm: bool  #: whether HBM is in use
    #: which classes of packets are paused apart at the cages
    flow: str = choice(*FLOWS, default="none")
    msix: bool = False  #: whether the board requests its interrupts from the bare block itself

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: all that the board has."""
        parts = {"hbm": self.hbm, self.flow: bool(FLOWS[self.flow]), "msix": self.msix}
        return "_".join([f"{self.cages}", *(name for name, is_there in parts.items() if is_there)])


@cache
def board_registers(params: BoardRegistersParams) -> RegisterMap:
    """Return the registers of links, memory, packets that a MAC lost, and the interrupt."""
    registers = [
        single(
            ro("board", 32, f"reads {IDENTITY:#x}, the number of the board's registers"),
            "Identifies the board's registers.",
        ),
        single(
            ro("board_version", 32, f"reads {VERSION}, the version of this register map"),
            "Tells the version of this register map.",
        ),
        Register(
            "state",
            "Shows which links and memories work.",
            ro(
                "links",
                2,
                "tells with bit p that packets can pass the link of cage p, if it is in use",
            ),
            ro("memory_ready", 1, "tells that HBM has been set up; reads of HBM wait until then"),
        ),
        Register(
            "interrupt",
            "Controls the one interrupt to the host.",
            rw("interrupt_enable", 1, "lets the design's request for an interrupt reach the host"),
            ro("interrupt_request", 1, "tells the level of the design's request for an interrupt"),
            *(MSIX_FIELDS if params.msix else ()),
        ),
        Register(
            "board_clear",
            COMMANDS_DOC,
            pulse("clear_losses", "sets all counters of the board to 0"),
        ),
    ]
    if params.hbm:
        registers.append(
            Register(
                "temperature",
                "Tells the HBM stacks' temperatures; a temperature that changes during the read"
                " may be wrong.",
                ro("degrees_0", 7, "tells the temperature of the first HBM stack, in degrees"),
                ro("degrees_1", 7, "tells the temperature of the second HBM stack, in degrees"),
            )
        )
    for k in range(params.cages):
        registers += mac_controls(k) + mac_status(k) + mac_counters(k)
        registers += pause_registers(k, FLOWS[params.flow])
    return RegisterMap(f"board_{params.suffix}", tuple(registers), ADDRESS_BITS)


def mac_controls(k: int) -> list[Register]:
    """Return the registers of settings and resets of the MAC at cage ``k``."""
    return [
        Register(
            f"mac_settings_{k}",
            f"Sets the MAC at cage {k}. A change resets both datapaths; the link is back"
            " after some milliseconds if both ends agree.",
            rw(
                f"rsfec_{k}",
                1,
                f"turns RS-FEC (clause 91) on at cage {k} in both directions; must be the same"
                " at the far end",
                init=1,
            ),
            rw(
                f"loopback_{k}",
                2,
                f"sets the loopback of cage {k}: whether, and where, what it sends comes back;"
                " 3 acts as 0",
                enum=names_of(Loopback),
            ),
        ),
        Register(
            f"mac_resets_{k}",
            f"Takes commands to reset the MAC at cage {k}. Packets on the way to and from the MAC"
            " are lost, and counted.",
            pulse(
                f"reset_{k}", f"resets all of the MAC at cage {k}, its transceivers and their PLLs"
            ),
            pulse(f"reset_transmit_{k}", f"resets the transmit datapath of the MAC at cage {k}"),
            pulse(f"reset_receive_{k}", f"resets the receive datapath of the MAC at cage {k}"),
        ),
    ]


def mac_status(k: int) -> list[Register]:
    """Return the registers of the status of the MAC at cage ``k``."""
    return [
        Register(
            f"mac_status_{k}",
            f"Tells the status of the MAC at cage {k}, from the MAC's ports; reads as 0 without"
            " its reference clock.",
            ro(
                f"linked_{k}",
                1,
                f"tells that packets can pass at cage {k}: aligned and received are 1, and"
                " there is no fault",
            ),
            ro(f"aligned_{k}", 1, f"tells that the receiver at cage {k} has aligned its lanes"),
            ro(
                f"received_{k}",
                1,
                f"tells that the receiver at cage {k} is aligned and has few errors"
                " (stat_rx_status)",
            ),
            ro(
                f"local_fault_{k}",
                1,
                f"tells that the receiver at cage {k} cannot receive; the MAC reports this to"
                " the far end",
            ),
            ro(
                f"remote_fault_{k}",
                1,
                f"tells that the far end of cage {k} reports that it cannot receive",
            ),
            ro(f"transmit_ready_{k}", 1, f"tells that the transmitter at cage {k} is not in reset"),
            ro(f"receive_ready_{k}", 1, f"tells that the receiver at cage {k} is not in reset"),
            ro(f"fec_aligned_{k}", 1, f"tells that RS-FEC at cage {k} has aligned all lanes"),
            ro(
                f"fec_locked_{k}",
                FEC_LANES,
                f"tells with a bit for each lane that RS-FEC at cage {k} has found the lane's"
                " markers",
            ),
        ),
        Register(
            f"mac_lanes_{k}",
            f"Tells the status of the receiver at cage {k}, with a bit for each lane of the PCS.",
            ro(
                f"block_locked_{k}",
                PCS_LANES,
                f"tells with a bit for each lane of cage {k} that blocks are found"
                " (stat_rx_block_lock)",
            ),
            ro(
                f"synced_{k}",
                PCS_LANES,
                f"tells with a bit for each lane of cage {k} that lane markers are found"
                " (stat_rx_synced)",
            ),
        ),
    ]


def mac_counters(k: int) -> list[Register]:
    """Return the registers of counters of packets, codewords and resets at cage ``k``."""
    return [
        *(
            single(
                ro(f"{name}_{k}", COUNT_BITS, f"counts {what}, since clear_losses"),
                f"Counts {what}.",
            )
            for name, what in (
                ("dropped", f"packets received at cage {k} for which there was no room"),
                ("broken", f"packets received at cage {k} whose checksum was wrong"),
                (
                    "foreign",
                    f"packets received at cage {k} that were of no kind that the cage takes",
                ),
                ("corrected", f"codewords that RS-FEC has corrected at cage {k}"),
                ("uncorrected", f"codewords that RS-FEC could not correct at cage {k}"),
                (
                    "symbol_errors",
                    f"cycles with too many wrong symbols at cage {k} (stat_rx_rsfec_hi_ser)",
                ),
            )
        ),
        Register(
            f"mac_repairs_{k}",
            f"Counts resets, and packets that they lost, at cage {k}; counters wrap to 0 after the"
            " highest number.",
            ro(
                f"watchdog_{k}",
                RARE_BITS,
                f"counts resets of the receiver at cage {k} after 1 s without alignment",
            ),
            ro(
                f"underflow_{k}",
                RARE_BITS,
                f"counts resets of the transmitter at cage {k} after an underflow",
            ),
            ro(
                f"overflow_{k}",
                RARE_BITS,
                f"counts resets of the transmitter at cage {k} after an overflow",
            ),
            ro(
                f"cut_transmit_{k}",
                RARE_BITS,
                f"counts packets to be sent by cage {k} that a reset lost before all of them"
                " had passed to the MAC",
            ),
            ro(
                f"cut_receive_{k}",
                RARE_BITS,
                f"counts packets received at cage {k} that a reset cut off, or lost before the"
                " design had taken them",
            ),
        ),
    ]


def pause_registers(k: int, classes: Sequence[str]) -> list[Register]:
    """Return the registers of counters of flow control at cage ``k``, of each of ``classes``."""
    texts = {name: name.replace("priority_", "packets of priority ") for name in classes}
    return [
        register
        for name, text in texts.items()
        for register in (
            single(
                ro(
                    f"paused_{name}_{k}",
                    COUNT_BITS,
                    f"counts cycles of 3.103 ns in which the far end of cage {k} pauses our"
                    f" {text}; it counts on while a pause lasts",
                ),
                f"Counts how long the {text} that cage {k} sends were paused.",
            ),
            single(
                ro(
                    f"pauses_{name}_{k}",
                    COUNT_BITS,
                    f"counts pauses of {text} that were requested from the far end of cage {k}",
                ),
                f"Counts pauses of the far end's {text} at cage {k}.",
            ),
        )
    ]


def board_fields(**sizes: Any) -> dict[str, tuple[int, int, int]]:
    """Return address, first bit and bits of each field of a card, by name.

    ``sizes`` are those of :class:`BoardRegistersParams`; without them it has HBM and one cage.
    """
    params = BoardRegistersParams(**{"cages": 1, "hbm": True} | sizes)
    return {
        field.name: (BASE + address, offset, field.bits)
        for address, register in board_registers(params).placed
        for offset, field in zip(register.offsets, register.fields, strict=True)
    }
