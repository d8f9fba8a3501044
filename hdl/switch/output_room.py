"""Tracks the free beats of each port's output queue (credits), and who may use them."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.arithmetic import delay
from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.params import Params, whole

LATENCY = 4  #: cycles until a claim or a return shows in ``open`` and ``open_items``
AHEAD = 1  #: cycles from ``open`` to the packet that relies on it
SETTLING = LATENCY - 1  #: cycles after a packet in which ``open`` does not reflect it yet
UNSEEN_ITEMS = LATENCY + AHEAD  #: most items that ``open`` and ``open_items`` do not reflect yet
UNSEEN_PACKETS = (LATENCY + AHEAD) // 2  #: most such packets; two never come in a row


class OutputRoomParams(Params, suffix="{ports}x{beats}_p{packet}_i{item}_g{gives}"):
    """Sets the ports of an :class:`OutputRoom`, and its queues, packets and items in beats."""

    ports: int = whole(1, 64)  #: number of ports
    beats: int  #: beats that the output queue of a port holds
    packet: int = whole(1, 1 << 15)  #: most beats that a packet turns into
    item: int = 0  #: most beats that an item turns into; 0: there are only packets
    gives: int = whole(1, 8, default=1)  #: number of inputs that return beats

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("item", self.item, 0, self.packet)
        check_range("beats", self.beats, self.items_from, 1 << 16)

    @property
    def port_bits(self) -> int:
        """Return the width of a port's number."""
        return max(1, ceil_log2(self.ports))

    @property
    def packets_from(self) -> int:
        """Return the free beats that a packet needs, if none was let in just before."""
        return self.packet + UNSEEN_ITEMS * self.item

    @property
    def any_packets_from(self) -> int:
        """Return the free beats that packets need which are let in right after each other."""
        return self.packets_from + UNSEEN_PACKETS * self.packet

    @property
    def items_from(self) -> int:
        """Return the free beats that an item needs, so that room for a packet is left."""
        return self.packets_from + (SETTLING + 1) * self.packet

    @property
    def give(self) -> data.StructLayout:
        """Describe how many beats a port gets back."""
        return data.StructLayout({"port": self.port_bits, "beats": bits_for(self.packet)})

    @property
    def item_claim(self) -> data.StructLayout:
        """Describe how many beats an item takes, and of which port."""
        return data.StructLayout(
            {"valid": 1, "port": self.port_bits, "beats": bits_for(max(1, self.item))}
        )


class OutputRoom(Component):
    """Counts, for each port, the beats of its output queue that are not claimed.

    A packet or an item that is let in claims the most beats that it can turn into. Some are
    returned when it turns out to need fewer (``gives``), the others as beats leave the queue
    (``left``, a bit for each port). So a queue never overflows, and a blocked port does not block
    the others.

    A bit of ``packets`` says that a packet is let in for that port, and claims ``params.packet``
    beats; it may be high only if the port's bit of ``open`` was high in the cycle before, and no
    packet was let in then. With ample room ``open`` stays high; with less it is low for
    :data:`SETTLING` cycles after a packet. ``item`` claims ``item.beats`` of a port, at most once a
    cycle, and only while the port's bit of ``open_items`` is high. Items leave room for a packet,
    so packets never wait for items.

    Every change shows in the registers ``open`` and ``open_items`` :attr:`latency` cycles later.
    """

    latency = LATENCY

    def __init__(self, params: OutputRoomParams) -> None:
        super().__init__(
            params,
            packets=In(params.ports),
            item=In(params.item_claim),
            gives=In(params.give).array(params.gives),
            left=In(params.ports),
            open=Out(params.ports),
            open_items=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params = self.params
        gives = [
            delay(m, give, 1, f"give_{k}", reset_less=False) for k, give in enumerate(self.gives)
        ]
        left = delay(m, self.left, 1, "left", reset_less=False)
        item_port = delay(m, self.item.port, 1, "item_port")
        item_beats = Mux(self.item.valid, self.item.beats, 0)
        item_beats = delay(m, item_beats, 1, "item_beats", reset_less=False)
        for k in range(params.ports):
            recent = Signal(SETTLING - 1, name=f"recent_{k}")  # a packet was let in
            change = Signal(signed(bits_for(params.beats) + 1), name=f"change_{k}")
            free = Signal(bits_for(params.beats), name=f"free_{k}", init=params.beats)
            provided = sum(Mux(give.port == k, give.beats, 0) for give in gives) + left[k]
            taken = Mux(recent[0], params.packet, 0) + Mux(item_port == k, item_beats, 0)
            alone = (free >= params.packets_from) & ~self.packets[k] & ~recent.any()
            m.d.sync += [
                recent.eq(Cat(self.packets[k], recent[:-1])),
                change.eq(provided - taken),
                free.eq((free + change)[: len(free)]),
                self.open[k].eq(alone | (free >= params.any_packets_from)),
                self.open_items[k].eq(free >= params.items_from),
            ]
        item, packets = self.item, self.packets
        requested = Array(self.open_items)[item.port] & (item.port < params.ports)
        expect(
            m,
            self,
            packets_find_room=lambda: ~(packets & ~before(m, self.open, "was_open")).any(),
            packets_are_apart=lambda: ~(packets & before(m, packets, "came")).any(),
            items_find_room=lambda: ~item.valid | (requested & (item.beats <= params.item)),
        )


def before(m: Module, value: Signal, name: str) -> Signal:
    """Return a register with the ``value`` of the previous cycle."""
    return delay(m, value, 1, name, reset_less=False)
