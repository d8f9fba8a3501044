"""Connects all parts of a card to a block and a host that others wrote, with traffic everywhere.

One completion of the host, and accesses to some registers, get faults on their way.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from amaranth.lib.wiring import Out, connect, flipped
from cocotb.triggers import ClockCycles, Lock
from cocotbext.axi import AxiLiteBus, AxiLiteRam
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.xilinx.us.tlp import Tlp_us

from hdl.common.component import Component
from hdl.pcie import completer, read_requester
from hdl.pcie.completer import Completer
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.interrupt_sender import InterruptSender, InterruptSenderParams
from hdl.pcie.requester import Requester
from sim.golden.pcie_requester import Cause
from sim.harness.records import Tally
from sim.harness.streams import never, strobe, until
from tests.hdl.pcie.card_on_model import MEMORY, PLACE, Card
from tests.hdl.pcie.interrupt_block import VECTORS, Block

BYTES = 4096  #: size of the BAR
COMPLETER, INTERRUPTS = CompleterParams(), InterruptSenderParams(vectors=VECTORS)


class Parts(Component):
    """Holds a requester, a completer and a sender of interrupts side by side, as on a card."""

    def __init__(self, params):
        answers = Completer(COMPLETER).signature.members
        super().__init__(
            params,
            **Requester(params).signature.members,
            **{name: answers[name] for name in ("cq", "cc", "axil")},
            answered=Out(completer.EVENTS),
            interrupts=Out(InterruptSender(INTERRUPTS).signature),
        )

    def build(self, m):
        m.submodules.requester = requester = Requester(self.params)
        m.submodules.completer = completer = Completer(COMPLETER)
        m.submodules.interrupts = interrupts = InterruptSender(INTERRUPTS)
        for name, member in requester.signature.members.items():
            own, inner = getattr(self, name), getattr(requester, name)
            if not member.is_port:
                pair = (inner, flipped(own)) if name in OUT else (flipped(own), inner)
                connect(m, *pair)
            elif member.flow.name == "In":
                m.d.comb += inner.eq(own)
            else:
                m.d.comb += own.eq(inner)
        connect(m, flipped(self.cq), completer.cq)
        connect(m, completer.cc, flipped(self.cc))
        connect(m, completer.axil, flipped(self.axil))
        connect(m, interrupts, flipped(self.interrupts))
        m.d.comb += [completer.tick.eq(self.tick), self.answered.eq(completer.events)]


OUT = ("beats", "rq")


MEMORY_REQUESTS = (TlpType.MEM_READ, TlpType.MEM_READ_64, TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)
LONG = 64  #: bytes of a long access, and of the range that each of ACCESSES has


@dataclass(frozen=True, kw_only=True)
class Access:
    """Describes an access to registers, and its result."""

    name: str

    writes: bool = False
    size: int = 4  #: bytes
    change: dict[str, Any] = field(default_factory=dict)  #: changed fields on CQ
    counted: str = ""  #: name of the event that counts it, or "" if it is good
    written: tuple[int, ...] = ()  #: offsets of the bytes that it writes


def of_kind(name, kind, size=0):
    """Return an access that arrives as a request of this ``kind``, with ``size`` bytes of data."""
    change = {"fmt_type": kind, "data": bytearray(size)}
    return Access(name=name, change=change, counted="unsupported")


ACCESSES = [
    of_kind("io read", TlpType.IO_READ),
    of_kind("io write", TlpType.IO_WRITE, 4),
    of_kind("fetch and add", TlpType.FETCH_ADD, 4),
    of_kind("swap", TlpType.SWAP, 4),
    of_kind("compare and swap", TlpType.CAS, 8),
    of_kind("locked read", TlpType.MEM_READ_LOCKED),
    Access(name="read of another BAR", change={"bar_id": 1}, counted="unsupported"),
    Access(name="write of another BAR", writes=True, change={"bar_id": 1}, counted="unsupported"),
    Access(name="long read", size=64, counted="unsupported"),
    Access(name="long write", writes=True, size=64, counted="unsupported"),
    Access(
        name="write that the block lost",
        writes=True,
        change={"discontinue": True},
        counted="malformed",
    ),
    Access(
        name="write with half of its data",
        writes=True,
        size=8,
        change={"data": bytearray(4)},
        counted="malformed",
    ),
    Access(name="read with data", change={"data": bytearray(4)}, counted="malformed"),
    Access(name="read with a hole", change={"first_be": 0b1001}),
    Access(name="write with holes", writes=True, change={"first_be": 0b0101}, written=(0, 2)),
    Access(name="write of no byte", writes=True, change={"first_be": 0}),
]
ODD = BYTES - LONG * len(ACCESSES)  #: offset at which the ranges of ACCESSES begin


class Bench:
    """Has a card with traffic, in which the read at ``odd`` or one of ACCESSES gets a fault."""

    def __init__(self, dut):
        self.dut = dut
        self.card = Card(dut, never, "cq", "cc", bars=[(0, BYTES)])
        self.registers = AxiLiteRam(
            AxiLiteBus.from_prefix(dut, "axil"), dut.clk, dut.rst, size=BYTES
        )
        names = InterruptSender(INTERRUPTS).signature.members
        wires = {name: getattr(dut, f"interrupts_{name}") for name in names}
        self.block = Block(SimpleNamespace(clk=dut.clk, rst=dut.rst, **wires))
        self.content, self.causes, self.requested = bytearray(BYTES), [], []
        self.tallies = [
            Tally(dut, "events", read_requester.EVENTS),
            Tally(dut, "answered", completer.EVENTS),
        ]
        self.place = 8 * random.randrange(ODD // 8)
        self.odd = self.card.base + MEMORY - 64
        self.spoil, self.demands = None, Lock()
        self.send, self.receive = self.card.root.send, self.card.model.device.upstream_recv
        self.card.root.send = self.answer
        self.card.model.device.upstream_port.rx_handler = self.accept

    @property
    def events(self):
        """Return how often each event has been reported."""
        return sum((tally.counts for tally in self.tallies), Counter())

    async def begin(self):
        result = await self.card.begin(2, 1)
        self.function = result.pcie_id
        self.window = result.bar_window[0]
        self.registers.write(0, bytes(BYTES))
        return self

    async def answer(self, tlp):
        """Send a completion of the host; one of the read at ``odd`` is changed by ``spoil``."""
        spoils = tlp.fmt_type == TlpType.CPL_DATA and tlp.length == 15 and self.spoil
        self.spoil, spoil = None if spoils else self.spoil, self.spoil
        for item in spoil(tlp) if spoils else [tlp]:
            await self.send(item)

    async def accept(self, tlp):
        """Hand a request of the host on, with the changes of its entry in ACCESSES, if any."""
        number, rest = divmod(tlp.address % BYTES - ODD, LONG)
        if tlp.fmt_type in MEMORY_REQUESTS and number >= 0 and not rest:
            changed = Tlp_us(tlp)
            changed.bar_id, changed.bar_aperture, changed.completer_id = 0, 12, self.function
            for name, value in ACCESSES[number].change.items():
                setattr(changed, name, value)
            at = tlp.address % BYTES
            for place in ACCESSES[number].written:
                self.content[at + place] = changed.data[place]
            tlp.release_fc()
            self.card.model.device.cq_queue.put_nowait(changed)
        else:
            await self.receive(tlp)

    def read(self, address, size, cause=Cause.NONE):
        self.card.issue(address, size)
        self.causes.append(cause)

    async def traffic(self, accesses=4):
        """Make good requests on all channels; wait until the host's own accesses are done."""
        card = self.card
        for offset in (0, 512, 4096, 8000):
            self.read(card.base + offset, 700)
        for _ in range(2):
            place = PLACE * random.randrange(2, MEMORY // PLACE - 1)
            card.write(place + random.randrange(PLACE - 300), random.randbytes(300))
        async with self.demands:
            waits = Counter(self.requested) - Counter(self.block.sent)
            vector = random.choice([vector for vector in range(VECTORS) if not waits[vector]])
            self.requested.append(vector)
            await self.block.issue(vector)
        for _ in range(accesses):
            size = random.choice([4, 8])
            self.place = (self.place + 8) % ODD  # no other traffic uses it at the same time
            start, payload = self.place, random.randbytes(size)
            self.content[start : start + size] = payload
            await self.window.write(start, payload)
            assert await self.window.read(start, size) == payload

    async def finish(self):
        """Wait until all is done; check reads, writes, interrupts and registers."""
        card, dut = self.card, self.dut
        assert await card.finish() == self.causes
        await self.window.read(0, 4)  # comes after all writes of registers
        await card.gone.reach(card.written)
        await until(dut.clk, dut.writes_owe, 0)
        assert card.sent == card.written
        await self.block.until(len(self.requested))
        assert sorted(self.block.sent) == sorted(self.requested)
        await self.cycles(100)
        result = self.registers.read(0, BYTES)
        different = [at for at in range(BYTES) if result[at] != self.content[at]]
        assert not different, f"registers differ: {different}"
        assert bytes(card.memory.mem[:]) == bytes(card.bytes)

    async def cycles(self, count):
        await ClockCycles(self.dut.clk, count)

    async def ticks(self, count=3):
        """Let enough ticks pass for a read to time out."""
        for _ in range(count):
            await self.cycles(2000)
            await strobe(self.dut.tick, self.dut.clk)
