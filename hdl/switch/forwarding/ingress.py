"""Judges the packets of a port: where each goes, in which class, or why it is dropped."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT, BEAT_BYTES, LEAST_BYTES
from hdl.common.round_robin import lowest
from hdl.switch.forwarding.flood_limit import FloodLimit
from hdl.switch.forwarding.header import HEADER, is_reserved, mark, read_header
from hdl.switch.forwarding.mac_table import MacTable
from hdl.switch.forwarding.params import GROUP_BITS, LEARNED, MAC_BITS, PORT_BITS, ForwardingParams
from hdl.switch.forwarding.settings import class_of, group_of, settings_layout

#: why a packet is dropped before it is queued, the first that applies: it is not whole and sound
ERRORS = {
    "bad_fcs": "the MAC has found its checksum wrong",
    "undersize": f"it has fewer than {LEAST_BYTES} bytes without its checksum",
    "oversize": "it has more bytes than a packet may have",
    "cut": "a reset of the port has cut it",
}
#: or it goes nowhere
REFUSALS = {
    "no_group": "no group has its VLAN id, or its port is down, or no member of its group",
    "filtered": "its receiver is where it came from, or its address is one that 802.1Q reserves",
    "flood_limited": "it would flood, and its port has flooded what it may",
}
CAUSES = {**ERRORS, **REFUSALS}
GROUP_ADDRESS = 40  #: bit of a MAC address that is set in multicast and broadcast


class ForwardingIngress(Component):
    """Passes every packet of ``axis`` to ``stored``, with its outputs, its class and its verdict.

    A packet belongs to a group (:func:`group_of`), of which its port must be a member. An address
    that the table knows leads to its port; all other packets flood to the group's other members, if
    the port's :class:`FloodLimit` is open. ``own`` has the port's bit, or none while it is down.
    ``tuser`` says that the checksum is bad. ``dropped`` says why a packet is not queued, a bit for
    each of CAUSES, with ``stored.ends``;
    ``learns`` is high with it if the packet's source, ``learned``, may be learned. ``congested``
    has a bit for each class of whose packets the ECN-capable ones are marked. ``mac``, ``group``,
    ``hit`` and ``port`` are those of the :class:`MacTable`. A beat is ignored unless ``passes`` is
    high in the cycle after it.

    Throughput: a beat a cycle; ``axis.tready`` is always high. Latency: :attr:`latency`.
    """

    latency = MacTable.latency + 1

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            axis=In(AXIS),
            passes=In(1),
            own=In(params.ports),
            settings=In(settings_layout(params)),
            congested=In(params.classes),
            mac=Out(MAC_BITS),
            group=Out(GROUP_BITS),
            hit=In(1),
            port=In(PORT_BITS),
            stored=Out(params.stored),
            dropped=Out(len(CAUSES)),
            learns=Out(1),
            learned=Out(LEARNED),
        )

    def build(self, m: Module) -> None:
        params, stored = self.params, self.stored
        came, beat = self.receive(m)
        header, group, known, class_ = self.read(m, came[0], beat[0])
        (valid, first, severed, user), beat = came[1], beat[1]
        goes, refused = self.direct(m, valid & first, header, group, known)
        count = Signal(range(params.longest + 1))  # beats of the packet before this one
        at = Mux(first, 0, count)
        full = at == params.longest
        with m.If(valid):
            m.d.sync += count.eq((at + ~full)[: len(count)])
        rest = params.max_bytes - BEAT_BYTES * (params.longest - 1)
        beyond = beat.keep[rest] if rest < BEAT_BYTES else 0
        short = first & ~beat.keep[LEAST_BYTES - 1]
        errors, good, writes = Signal(len(ERRORS)), Signal(), Signal()
        wrong = Cat(user, short, full | ((at == params.longest - 1) & beyond), severed)
        data = Signal(BEAT, reset_less=True)
        m.d.sync += [
            writes.eq(valid & ~full & ~severed),
            stored.ends.eq(valid & beat.last),
            errors.eq(wrong),
            good.eq(~wrong.any()),
            data.eq(beat),
        ]
        with m.If(valid & first):
            congested = Array(self.congested)[class_]
            m.d.sync += [
                data.data.eq(mark(m, beat.data, header, congested)),
                stored.class_.eq(class_),
                self.learned.mac.eq(header.source),
                self.learned.group.eq(group),
            ]
        causes = Cat(errors, refused)
        m.d.comb += [
            stored.beat.eq(data),
            stored.write.eq(writes & goes),
            stored.keep.eq(good & goes),
            self.dropped.eq(lowest(causes) & stored.ends.replicate(len(CAUSES))),
            self.learned.port.eq(index_of(self.own, PORT_BITS)),
            self.learns.eq(stored.ends & good & ~refused[0] & ~self.learned.mac[GROUP_ADDRESS]),
        ]

    def receive(self, m: Module) -> tuple[list[Value], list[Value]]:
        """Register the beats twice; return each time what is known of a beat, and the beat.

        What is known: that it has come, that it is the first of a packet, that a reset has cut its
        packet, that the packet's checksum is bad.
        """
        axis = self.axis
        inside = Signal(reset_less=True)  # a packet has begun, perhaps before a reset
        cut = Signal(init=1)
        with m.If(axis.tvalid):
            m.d.sync += [inside.eq(~axis.tlast), cut.eq(inside & cut & ~axis.tlast)]
        beat, came = Signal(BEAT), Signal(4)
        fields = {"data": axis.tdata, "keep": axis.tkeep, "last": axis.tlast}
        m.d.comb += [
            axis.tready.eq(1),
            *(beat[name].eq(value) for name, value in fields.items()),
            came.eq(Cat(axis.tvalid, ~inside, cut & inside, axis.tuser & axis.tlast)),
            self.mac.eq(read_header(axis.tdata)["dest"]),
        ]
        early = delay(m, came, 1, "came_early", reset_less=False)
        came_1 = Cat(early[0] & self.passes, early[1:])
        beat_1 = delay(m, beat, 1, "beat_early")
        return (
            [came_1, delay(m, came_1, 1, "came", reset_less=False)],
            [beat_1, delay(m, beat_1, 1, "beat")],
        )

    def read(self, m: Module, came: Value, beat: Value):
        """Return the header of the latest packet, its group, whether it has one, and its class."""
        fresh, header = Signal(HEADER), Signal(HEADER, reset_less=True)
        group, known = Signal(GROUP_BITS), Signal()
        class_ = Signal(self.params.class_bits)
        now, has = group_of(m, fresh, self.settings)
        m.d.comb += [fresh[name].eq(value) for name, value in read_header(beat.data).items()]
        with m.If(came[0] & came[1]):
            m.d.sync += [
                header.eq(fresh),
                group.eq(now),
                known.eq(has),
                class_.eq(class_of(fresh, self.settings)),
            ]
        m.d.comb += self.group.eq(group)
        return header, group, known, class_

    def direct(self, m: Module, first: Value, header, group: Value, known: Value):
        """Choose the outputs of a packet; return whether it may be written, and why it has none."""
        m.submodules.limit = limit = FloodLimit()
        members = Array(self.settings.members)[group]
        to = Cat(self.port == k for k in range(self.params.ports))
        multicast = header.dest[GROUP_ADDRESS]
        finds = self.hit & ~multicast
        outputs = members & ~self.own & (to | (~finds).replicate(self.params.ports))
        refused = Signal(len(REFUSALS))  # for lack of a group, by the address, by the limit
        goes, floods = Signal(), Signal()
        no_group = ~known | ~(members & self.own).any()
        reserved, limited = is_reserved(header.dest), ~finds & ~limit.open
        with m.If(first):
            m.d.sync += [
                self.stored.mask.eq(outputs),
                floods.eq(~finds),
                refused.eq(Cat(no_group, reserved, limited)),
                goes.eq(~no_group & ~reserved & ~limited),
            ]
        m.d.comb += [
            limit.rate.eq(self.settings.flood_rate),
            limit.burst.eq(self.settings.flood_burst),
            limit.floods.eq(floods & self.stored.write),
        ]
        filtered = refused[1] | ~self.stored.mask.any()
        return goes, Cat(refused[0], filtered, refused[2])
