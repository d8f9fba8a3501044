"""Sends sums to another switch: they are numbered, kept, and repeated until acknowledged."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.memory import DualPortMemory
from hdl.switchgnn.switch.links.link_window import LinkWindow
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import DELIVERY_CYCLES, OPEN_TURNS

HELD = 3  #: cycles after a turn's end until all parts know the next turn


class PartialSender(Component):
    """Sends the sums that are delivered to a port with another switch as PARTIALs.

    It is between the schedule of reads and the :class:`EgressPort`, and behaves towards each like
    the other. A ``delivery`` of an open turn gets the next seq of that turn and is stored, by
    :class:`LinkWindow`, until the other switch has acknowledged it: it leaves at once, and is sent
    again from here on a timer of ``timeout`` cycles. So a sum is read from its bank once, and
    repetitions take no cycles of a bank. While a turn's window has no room for all claims, ``open``
    is low, and sums wait in their aggregators.

    ``turns`` are the turns at both places, if ``two`` are open; ``clear`` says that one ended in
    the cycle before, or that a job begins. A sum of a turn that is not open is dropped, because it
    would take a seq of another turn. An ``ack`` is for an open turn of this port. Without an
    ``active`` job nothing is stored.

    All fields of a PARTIAL's frame are stored, so that a late order, of a turn or a job that is
    over, still sends a frame with that turn and job.

    ``again`` says that the PARTIAL of a claim was sent before, ``nonsense`` that an ACK cannot come
    from a switch. Throughput: a PARTIAL in as many cycles as its frame has beats, as long as
    ``params.link_window`` covers the round trip to the other switch. Latency: :attr:`latency` from
    a delivery to the delivery at the port, if it is open. Stalls: holds.
    """

    latency = LinkWindow.latency + 2 + DELIVERY_CYCLES  #: with all lanes in one die

    def __init__(self, params: GnnSwitchParams) -> None:
        self.latency = LinkWindow.latency + 2 + params.delivery_cycles
        super().__init__(
            params,
            active=In(1),
            turns=In(32).array(OPEN_TURNS),
            two=In(1),
            clear=In(OPEN_TURNS),
            timeout=In(32),
            open=Out(1),
            urgent=Out(1),
            claim=In(1),
            deliver=In(1),
            delivery=In(params.delivery),
            port_open=In(1),
            port_claim=Out(1),
            port_deliver=Out(1),
            port_delivery=Out(params.delivery),
            ack_valid=In(1),
            ack=In(params.link_ack),
            again=Out(1),
            nonsense=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.stored = stored = DualPortMemory(params.link_memory)
        windows = []
        for place in range(OPEN_TURNS):
            m.submodules[f"window_{place}"] = window = LinkWindow(params)
            m.d.comb += [
                window.clear.eq(self.held(m, place)),
                window.timeout.eq(self.timeout),
                window.ack.eq(self.ack),
                window.ack_valid.eq(self.ack_valid & (self.ack.place == place)),
            ]
            windows.append(window)
        m.d.comb += self.nonsense.eq(Cat(window.nonsense for window in windows).any())
        self.keep(m, windows, stored)
        self.make_room(m, windows)
        self.send(m, windows, stored)

    def held(self, m: Module, place: int) -> Value:
        """Return whether the window of a place must stay empty, as ``turns`` may be out of date."""
        held = now = self.clear[place] | ~self.active
        for k in range(HELD):
            now = delay(m, now, 1, f"held_{place}_{k}", reset_less=False)
            held |= now
        return held

    def keep(self, m: Module, windows: list[LinkWindow], retained: DualPortMemory) -> None:
        """Store the deliveries of an open turn, with the turn's next seq."""
        params, delivery = self.params, self.delivery
        # By its number, because both places may show the same turn while the oldest one changes.
        second = self.two & delivery.turn[0]
        fits = [
            (delivery.turn == turn) & (second == place) for place, turn in enumerate(self.turns)
        ]
        for window, fit in zip(windows, fits, strict=True):
            m.d.comb += window.add.eq(self.deliver & fit & ~window.clear)
        seq = Mux(second, windows[1].following, windows[0].following)
        stored: Any = Signal(params.kept_partial)
        m.d.comb += [
            *(stored[name].eq(delivery[name]) for name in ("job", "epoch", "turn", "list")),
            stored.sums.eq(delivery.sums),
            stored.seq.eq(low_bits(seq, len(stored.seq))),
            retained.write.eq(windows[0].add | windows[1].add),
            retained.write_address.eq(Cat(seq[: params.link_slot_bits], second)),
            retained.write_data.eq(stored),
        ]

    def make_room(self, m: Module, windows: list[LinkWindow]) -> None:
        """Drive ``open``: both windows have room for one more than all claims.

        What an ACK or ``clear`` has freed is known a cycle late, so that in no cycle one carry
        chain follows another.
        """
        width, cycles = self.params.link_window, self.params.delivery_cycles
        # claims of the last cycles, the latest in the lowest bit; the highest one's was delivered
        claims = Signal(cycles + 1)
        limit = Signal(range(width + 1), init=width)  # what may be stored beside earlier claims
        less = Signal(range(width + 1), init=width - 1)  # the same beside a claim of this cycle
        with m.If(self.claim ^ claims[-1]):
            for each in (limit, less):
                m.d.sync += each.eq(Mux(self.claim, each - 1, each + 1)[: len(each)])
        used = [
            delay(m, window.used, 1, f"used_{place}", reset_less=False)
            for place, window in enumerate(windows)
        ]
        room = Cat(Mux(self.claim, each < less, each < limit) for each in used)
        unsent = Cat(window.unsent for window in windows).any()
        m.d.sync += [
            claims.eq(Cat(self.claim, claims[:-1])),
            self.open.eq(room.all()),
            self.urgent.eq(~(self.claim | claims[:-1].any() | unsent)),
        ]
        expect(m, self, has_been_claimed=lambda: ~self.deliver | claims[-2])

    def send(self, m: Module, windows: list[LinkWindow], stored: DualPortMemory) -> None:
        """Claim the port for an order, alternating between turns, and deliver its PARTIAL."""
        params = self.params
        last = Signal()  # place of the order taken last
        orders = [window.orders for window in windows]
        second = orders[1].valid & (~orders[0].valid | ~last)
        go = self.port_open & ~self.port_claim
        order: Any = data.View(
            params.link_order,
            Mux(second, orders[1].payload.as_value(), orders[0].payload.as_value()),
        )
        taken = Signal()
        address = Signal(params.link_memory.address_bits, reset_less=True)
        m.d.comb += [
            orders[0].ready.eq(go & ~second),
            orders[1].ready.eq(go & second),
            taken.eq(go & (orders[0].valid | orders[1].valid)),
        ]
        m.d.sync += [
            self.port_claim.eq(taken),
            self.again.eq(taken & order.again),
            address.eq(Cat(order.slot, second)),
        ]
        with m.If(taken):
            m.d.sync += last.eq(second)
        result: Any = stored.read_data
        lag = params.delivery_cycles - stored.latency
        m.d.comb += [
            stored.read_address.eq(delay(m, address, lag, "address")),
            self.port_deliver.eq(
                delay(m, self.port_claim, params.delivery_cycles, "claimed", reset_less=False)
            ),
            *(self.port_delivery[name].eq(result[name]) for name in params.kept_partial.members),
            self.port_delivery.partial.eq(1),
        ]
