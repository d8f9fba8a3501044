"""Counts the packets of a port in the form of RFC 2863 and RMON, and why packets are dropped."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.event_counters import CountersParams
from hdl.common.packets import BEAT_BYTES
from hdl.switch.forwarding.ingress import CAUSES, ERRORS
from hdl.switch.forwarding.mac_table import TABLE_EVENTS
from hdl.switch.forwarding.params import MAC_BITS

FCS_BYTES = 4
LENGTH_BITS = 14
KINDS = ("unicast", "multicast", "broadcast")
#: ranges of lengths, checksum included, by the least of each (RFC 2819, with 1519 and more apart)
RANGES = (64, 65, 128, 256, 512, 1024, 1519)
MEASURES = {
    "octets": LENGTH_BITS,
    **{f"{kind}_pkts": 1 for kind in KINDS},
    **{f"pkts_from_{least}": 1 for least in RANGES},
}
#: what a port counts: packets each way, those dropped by cause, addresses that were not learned
COUNTERS = CountersParams(
    name="forwarding_port",
    counters=(
        *((f"in_{name}", bits) for name, bits in MEASURES.items()),
        *((f"in_{cause}", 1) for cause in (*CAUSES, "no_room", "foreign")),
        *((f"out_{name}", bits) for name, bits in MEASURES.items()),
        ("out_discards", 1),
        ("learning_lost", 1),
    ),
)
TABLE_COUNTERS = CountersParams(
    name="forwarding_table", counters=tuple((name, 1) for name in TABLE_EVENTS), bits=32
)


class PacketMeter(Component):
    """Measures the packets that pass: ``measures`` has what one adds to each of MEASURES.

    A beat passes with ``moves``; its first bytes are ``dest``. Octets include the checksum; packets
    of 256 beats and more count as of 255 beats. Latency: :attr:`latency` from a packet's last beat.
    """

    latency = 2

    def __init__(self, params: None = None) -> None:
        layout = data.StructLayout(MEASURES)
        ports = {"moves": In(1), "last": In(1), "keep": In(BEAT_BYTES), "dest": In(MAC_BITS)}
        super().__init__(params, ports | {"measures": Out(layout)})

    def build(self, m: Module) -> None:
        beats = Signal(8)  # of the packet before this one, at most 254
        first, ends = Signal(init=1), Signal()
        kind, now = Signal(len(KINDS)), Signal(len(KINDS))
        length = Signal(LENGTH_BITS)
        group, all_ones, keep = self.dest[0], self.dest.all(), self.keep
        m.d.comb += now.eq(Mux(first, Cat(~group, group & ~all_ones, all_ones), kind))
        last = index_of(keep & ~(keep >> 1))  # number of the last byte, as there are no gaps
        m.d.sync += ends.eq(self.moves & self.last)
        with m.If(self.moves):
            m.d.sync += [
                first.eq(self.last),
                kind.eq(now),
                beats.eq(Mux(self.last, 0, beats + ~beats[1:].all())),
                length.eq((Cat(last, beats) + 1 + FCS_BYTES)[:LENGTH_BITS]),
            ]
        above = [length >= least for least in RANGES] + [Const(0)]
        m.d.sync += [
            self.measures.octets.eq(Mux(ends, length, 0)),
            *(self.measures[f"{name}_pkts"].eq(ends & kind[k]) for k, name in enumerate(KINDS)),
            *(
                self.measures[f"pkts_from_{least}"].eq(ends & above[k] & ~above[k + 1])
                for k, least in enumerate(RANGES)
            ),
        ]


def without_errors(measures, dropped) -> dict:
    """Return what a packet adds at the input: octets and sizes if bad, too, kinds only if good."""
    good = ~dropped[: len(ERRORS)].any()
    return {
        name: Mux(good, measures[name], 0) if name.endswith("_pkts") else measures[name]
        for name in MEASURES
    }
