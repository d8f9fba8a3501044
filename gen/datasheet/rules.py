"""Says by which rules each kind of interface is used, for the chapter of a datasheet on them."""

from collections.abc import Callable, Iterator, Mapping

from gen.datasheet.interfaces import Interface
from gen.datasheet.prose import paragraphs
from hdl.common.axi import FOUR_KB, Bursts
from hdl.common.register_block import RegisterBlock

HANDSHAKE = (
    "A beat moves at a rising edge of the clock at which ``valid`` and ``ready`` are both 1."
    " ``valid`` never waits for ``ready``; a beat that waits neither changes nor goes away."
)
FRAME = (
    "A packet is an Ethernet frame from its destination address on: the preamble and the FCS are"
    " the MAC's. Its first byte is in the lowest bits of ``tdata``. All beats but the last are full"
    " (``tkeep`` is all ones), the last one has ``tlast`` and its bytes from the lowest on."
)
DAMAGED = (
    "``tuser`` counts beside ``tlast`` alone: 1 marks a packet that is damaged, and whoever"
    " receives it must drop it."
)
BLOCK = (
    "This is the interface of the same name of AMD's block for PCI Express, dword-aligned and"
    " without parity; AMD's guide PG213 says what ``tdata`` and ``tuser`` hold."
)


def rules(port: Interface) -> list[str]:
    """Return paragraphs on how a bus or a stream is used, in the form of docstrings."""
    return list(RULES[port.kind](port))


def of_stream(_: Interface) -> Iterator[str]:
    """Yield what holds for a stream of Amaranth's."""
    yield HANDSHAKE


def of_axi_stream(port: Interface) -> Iterator[str]:
    """Yield what holds for packets of a network, or of the block for PCI Express."""
    yield from (BLOCK,) if port.of_block else (FRAME, DAMAGED)
    yield HANDSHAKE


def of_registers(_: Interface) -> Iterator[str]:
    """Yield what holds for the registers of every design."""
    yield from paragraphs(RegisterBlock.__doc__)[1:-1]
    yield (
        f"B is valid {RegisterBlock.write_latency} cycles after the later of AW and W was taken, R"
        f" {RegisterBlock.read_latency} cycles after AR."
    )


def of_memory(port: Interface) -> Iterator[str]:
    """Yield what holds for AXI4: of a manager what it requests at most."""
    if not port.begins:
        yield "The section on programming says which accesses it takes."
        return
    yield (
        f"Bursts are of type INCR and of whole beats of {port.data_bits // 8} bytes; none crosses a"
        f" multiple of {FOUR_KB:,} bytes. Identifiers are 0, so memory must respond in order. There"
        " are no signals of lock, cache, protection, QoS and region."
    )
    for kind, most in (("read", port.reads), ("write", port.writes)):
        if most:
            yield of_bursts(kind, most, port.data_bits // 8)


def of_bursts(kind: str, most: Bursts, beat_bytes: int) -> str:
    """Return what is requested at most of one kind."""
    beats = f"{most.beats} beats" if most.beats > 1 else "one beat"
    return (
        f"A {kind} has at most {beats}, {most.beats * beat_bytes:,} bytes. At most"
        f" {most.under_way:,} {kind}s are under way, without their response."
    )


RULES: Mapping[str, Callable[[Interface], Iterator[str]]] = {
    "stream": of_stream,
    "AXI4-Stream": of_axi_stream,
    "AXI4-Lite": of_registers,
    "AXI4": of_memory,
    "AXI4, reads only": of_memory,
    "AXI4, writes only": of_memory,
}
