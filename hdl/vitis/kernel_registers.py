"""Declares the registers of a Vitis kernel, behind those of the design in it."""

from collections.abc import Iterator
from functools import cache

from hdl.common.params import Params, choice, whole
from hdl.common.read_plan import COUNT_BITS
from hdl.common.register_parts import COMMANDS_DOC, commands, memory_timeout, single
from hdl.common.registers import Register, RegisterMap, pulse, ro, rw, wide

IDENTITY = 0x56495449  #: the letters VITI
VERSION = 1
ADDRESS_BITS = 12  #: width of a byte address of these registers, and of the design's
DROPPED_BITS = 48


class KernelParams(Params):
    """Says what a kernel has of memories, packets and interrupts."""

    managers: tuple[str, ...]  #: names of the AXI managers, without ``m_axi_``
    entries: int = whole(0, 4, default=1)  #: entries that drop packets for want of room
    copies: bool = False  #: whether a model is copied between memory and the design
    #: the design's output from which the request for an interrupt follows
    interrupt: str = choice("busy", "irq", "none", default="busy")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.managers) > 32:
            raise ValueError(f"managers must be at most 32: {len(self.managers)}")
        if self.copies and self.interrupt != "busy":
            raise ValueError(f"copies need a design with busy, not {self.interrupt}")

    @property
    def requests(self) -> bool:
        """Return whether there is an interrupt."""
        return self.interrupt != "none"

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: what the managers carry."""
        return "_".join([str(len(self.managers)), *self.managers[:1]])


CLEAR = pulse("clear_dropped", "sets dropped_packets to 0")
#: registers of copies of the model between memory and the design
COPIES: tuple[Register, ...] = (
    Register(
        "copy_state",
        "Shows the copy of the model between memory and the design.",
        ro("copy_busy", 1, "tells that a copy is in progress"),
        ro("copy_done", 1, "tells that the last copy has ended; a start clears it"),
        ro(
            "copy_broken",
            1,
            "tells that the last copy is not complete: a bus did not answer within"
            " memory_timeout, or out of turn, or the copy was to pass the end of the model",
        ),
    ),
    single(
        ro(
            "failed_beats",
            COUNT_BITS,
            "counts beats of the last copy that were read with an error",
        ),
        "Counts errors of reads.",
    ),
    single(
        ro(
            "failed_bursts",
            COUNT_BITS,
            "counts bursts of the last copy that were written with an error",
        ),
        "Counts errors of writes.",
    ),
    single(
        rw(
            "copy_offset",
            32,
            "sets where the next copy begins, in bytes from the beginning of the buffer and"
            " of the model, a multiple of a beat",
        ),
        "Sets the beginning of the next copy.",
    ),
    single(
        rw(
            "copy_beats",
            COUNT_BITS,
            "sets how many beats the next copy has; one that passes the end of the model fails",
        ),
        "Sets the length of the next copy.",
    ),
    Register(
        "copy_commands",
        COMMANDS_DOC,
        pulse("load_model", "copies the model from the buffer of m_axi_model"),
        pulse("store_model", "copies the model to the buffer of m_axi_model"),
        CLEAR,
    ),
    memory_timeout("a bus of a copy", "a copy"),
)
DROPPED = single(
    ro(
        "dropped_packets",
        DROPPED_BITS,
        "counts packets of the network for which there was no room, since clear_dropped",
    ),
    "Counts lost packets.",
)


def idle(params: KernelParams) -> str:
    """Say of which parts the kernel waits until they are not busy."""
    return "neither the design nor a copy of the model is" if params.copies else "the design is not"


def identity(params: KernelParams) -> Iterator[Register]:
    """Yield the registers that say what the kernel is, and what concerns all of it."""
    yield single(
        ro("kernel", 32, f"reads {IDENTITY:#x}, the number of a kernel's registers"),
        "Identifies the kernel's registers.",
    )
    yield single(
        ro("kernel_version", 32, f"reads {VERSION}, the version of this register map"),
        "Tells the version of this register map.",
    )
    if params.managers:
        yield single(
            ro(
                "misaligned",
                len(params.managers),
                "tells with a bit for each manager that its pointer is no multiple of 4 KB; it"
                " acts as the multiple below",
            ),
            "Shows which pointers are wrong.",
        )
    if params.requests:
        yield Register(
            "interrupt",
            "Controls the interrupt to the host.",
            rw("interrupt_enable", 1, "lets the request for an interrupt reach the host"),
            ro(
                "interrupt_request",
                1,
                f"tells that {idle(params)} busy"
                if params.interrupt == "busy"
                else "tells that the design requests an interrupt",
            ),
        )


def pointers(params: KernelParams) -> Iterator[Register]:
    """Yield the registers of where the buffer of each manager is."""
    for name in params.managers:
        yield from wide(
            f"pointer_{name}",
            f"Sets where the buffer of m_axi_{name} begins, a multiple of 4 KB."
            + (
                f" A value takes effect when {idle(params)} busy."
                if params.interrupt == "busy"
                else " A value takes effect with the next burst."
            ),
        )


@cache
def kernel_registers(params: KernelParams) -> RegisterMap:
    """Return the registers of buffers, of copies of the model, of lost packets, of the interrupt.

    The memory of manager NAME begins at the byte address in pointer_NAME_low and _high.
    """
    return RegisterMap(
        "vitis_kernel",
        (
            *identity(params),
            *(COPIES if params.copies else (commands(CLEAR),) if params.entries else ()),
            *((DROPPED,) if params.entries else ()),
            *pointers(params),
        ),
        ADDRESS_BITS,
        constants={"kernel": IDENTITY, "kernel_version": VERSION},
    )
