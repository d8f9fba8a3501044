"""Tells when no completion or interrupt to the host can overtake a write any more."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import looked_up
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.params import Params, whole

NUMBER_BITS = 6  #: width of a packet's sequence number
LAST = (1 << NUMBER_BITS) - 1  #: writes have numbers 1 to this, cyclically; others have 0
PLACES = 64  #: places for packets whose numbers the block has not reported
MOST = LAST - 3  #: most such packets; then there is no room

#: Describes up to two sequence numbers that the block reports in a cycle.
NUMBERS = data.ArrayLayout(data.StructLayout({"valid": 1, "number": NUMBER_BITS}), 2)


class WriteFenceParams(Params, suffix="u{user_bits}"):
    """Sets the width of the user's bits of a write."""

    user_bits: int = whole(1, 32, default=8)  #: width of the user's bits

    @property
    def packet(self) -> data.StructLayout:
        """Describe a packet: ``final`` marks its write's last; ``user`` are the write's bits."""
        return data.StructLayout({"final": 1, "user": self.user_bits})

    @property
    def reported(self) -> data.StructLayout:
        """Describe the report that a write cannot be overtaken any more, with its ``user`` bits."""
        return data.StructLayout({"valid": 1, "user": self.user_bits})


class WriteFence(Component):
    """Numbers packets of writes, and reports in ``visible`` each write that none can overtake.

    Completions to the host (CC) and interrupts may overtake a write inside the block, until it has
    reported the write's number: ``numbers`` are ``pcie_rq_seq_num0`` and ``1`` with their ``vld``
    (PG213, "Transmit Transaction Ordering"). Whoever announces a write to the host by CC or an
    interrupt must wait for ``visible``. Requests on RQ itself do not overtake a write, and need not
    wait.

    ``taken`` says that RQ takes the first beat of ``packet``, with ``number``; a packet is not
    offered without ``room``. The block reports numbers in the order of the packets. A number that
    is not the next one is ignored: it is from before a ``clear``, or of a packet that is no write
    (number 0). ``clear`` drops all packets under way: hold it until ``owes`` is low, and send
    nothing meanwhile.

    Throughput: a packet a cycle. Latency: :attr:`latency` from a write's last number to
    ``visible``. Full: there is no ``room`` while the block has not reported the numbers of 60
    packets.
    """

    latency = 3

    def __init__(self, params: WriteFenceParams) -> None:
        super().__init__(
            params,
            packet=In(params.packet),
            taken=In(1),
            number=Out(NUMBER_BITS),
            room=Out(1),
            numbers=In(NUMBERS),
            clear=In(1),
            owes=Out(1),
            visible=Out(params.reported),
        )

    def build(self, m: Module) -> None:
        m.submodules.packets = packets = Fifo.sized(
            shape=self.params.packet, depth=PLACES, style="distributed"
        )
        issued = Signal(NUMBER_BITS, init=1)  # the next packet's number
        owed = Signal(range(PLACES))  # packets whose number the block owes
        passed = Signal(range(PLACES))  # of these, packets whose number was reported
        oldest, reports, leaves = Signal(self.params.packet), Signal(), Signal()
        m.d.comb += [
            self.number.eq(issued),
            packets.i.payload.eq(self.packet),
            packets.i.valid.eq(self.taken),
            oldest.eq(packets.o.payload),
            reports.eq((passed != 0) & packets.o.valid & ~self.clear),
            packets.o.ready.eq(reports | self.clear),
            leaves.eq(packets.o.valid & packets.o.ready),
        ]
        m.d.sync += [
            self.visible.valid.eq(reports & oldest.final),
            self.visible.user.eq(oldest.user),
            self.room.eq(owed < MOST),
            self.owes.eq(owed != 0),
            issued.eq(Mux(self.taken, following(issued), issued)),
            owed.eq(owed + self.taken - leaves),
            passed.eq(Mux(self.clear, 0, passed + self.count(m, issued) - reports)),
        ]

    def count(self, m: Module, issued: Signal) -> Value:
        """Return how many of ``numbers`` are the next ones, 0 to 2."""
        awaited, after = Signal(NUMBER_BITS, init=1), Signal(NUMBER_BITS, init=2)
        numbers = Signal(NUMBERS)
        m.d.sync += numbers.eq(self.numbers)
        item, two = (
            [said.valid & (said.number == k) for k in (awaited, after)] for said in numbers
        )
        some, more = awaited != issued, (awaited != issued) & (after != issued)
        first = item[0] & some
        second = Mux(first, two[1] & more, two[0] & some)
        with m.If(self.clear):
            m.d.sync += [awaited.eq(issued), after.eq(following(issued))]
        with m.Elif(first & second):
            m.d.sync += [awaited.eq(following(after)), after.eq(following(after, 2))]
        with m.Elif(first | second):
            m.d.sync += [awaited.eq(after), after.eq(following(after))]
        return first + second


def following(number: Value, steps: int = 1) -> Value:
    """Return the number of the packet that comes ``steps`` after that with ``number``."""
    return looked_up(lambda k: (k - 1 + steps) % LAST + 1, number, bits=NUMBER_BITS)
