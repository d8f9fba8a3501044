"""Registers of the board, beside those of the design."""

from dataclasses import dataclass

from hdl.common.registers import Register, RegisterMap, pulse, ro, rw

IDENTITY = 0x55323830  #: "U280"
VERSION = 1
COUNT_BITS = 48
BASE = 0x10000  #: of these registers; those of the design are at 0
ADDRESS_BITS = 12


@dataclass(frozen=True, kw_only=True)
class BoardRegistersParams:
    """What a board has."""

    cages: int  #: that are in use, 1 or 2
    hbm: bool  #: HBM is in use

    @property
    def suffix(self) -> str:
        """All of it."""
        return f"{self.cages}" + "_hbm" * self.hbm


def board_registers(params: BoardRegistersParams) -> RegisterMap:
    """State of links and memory, packets that a MAC lost, the interrupt."""
    registers = [
        Register("board", "What this is.", (ro("board", 32, "0x55323830"),)),
        Register("board_version", "Version of this register map.", (ro("board_version", 32, "1"),)),
        Register(
            "state",
            "What works.",
            (
                ro("links", 2, "a bit for each cage in use: the far end is heard"),
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
        Register("board_clear", "Commands.", (pulse("clear_losses", "set the counters to 0"),)),
    ]
    if params.hbm:
        registers.append(
            Register(
                "temperature",
                "Of the HBM stacks, in degrees; one that changes just now may read wrong.",
                (ro("degrees_0", 7, "first stack"), ro("degrees_1", 7, "second stack")),
            )
        )
    for k in range(params.cages):
        registers += [
            Register(f"{name}_{k}", doc, (ro(f"{name}_{k}", COUNT_BITS, "packets"),))
            for name, doc in (
                ("dropped", f"Packets received at cage {k} that found no room."),
                ("broken", f"Packets received at cage {k} whose checksum was wrong."),
                ("foreign", f"Packets received at cage {k} that were of no kind it takes."),
            )
        ]
    return RegisterMap(f"board_{params.suffix}", tuple(registers), ADDRESS_BITS)
