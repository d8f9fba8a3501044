"""Counts a SNIC's events outside its units: packets, memory accesses, drops."""

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams
from hdl.netsparse.concat.deconcatenator_params import EVENTS as RECEIVED
from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.host.params import EVENTS as HOST_EVENTS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.unit import UNIT_EVENTS

CLASSES = ("reads", "responses")  #: classes of packets
BUSES = ("host_read", "host_write", "dram")  #: buses of memories
BUCKETS = 8  #: counters of PRs per packet: 1, 2-3, 4-7, ... 64-127, 128 and more

UNIT_COUNTERS = CountersParams(
    name="rig", counters=tuple((name, field.width) for name, field in UNIT_EVENTS), bits=40
)


def class_counters(name: str) -> tuple[tuple[str, int], ...]:
    """Return the counters of one class of packets, in both directions."""
    return (
        (f"{name}_sent_packets", 1),
        (f"{name}_sent_bytes", 14),
        (f"{name}_sent_prs", 9),
        *((f"{name}_sent_prs_{1 << k}", 1) for k in range(BUCKETS)),
        (f"{name}_stall", 1),
        (f"{name}_received_packets", 1),
        (f"{name}_received_bytes", 14),
        (f"{name}_received_prs", 9),
        *((f"{name}_dropped_{drop.name.lower()}", 1) for drop in Drop),
    )


SNIC_COUNTERS = CountersParams(
    name="snic",
    counters=(
        ("cycles", 1),  # cycles with any unit busy
        *(counter for name in CLASSES for counter in class_counters(name)),
        ("lost_responses", 1),  # responses for a unit that does not exist
        ("filter_near_hits", 7),  # lookups that were answered by a unit's own cache
        ("filter_hits", 7),
        ("filter_misses", 7),
        ("filter_write_backs", 7),
        ("filter_fill_errors", 7),
        ("filter_write_errors", 1),
        ("host_read_requests", 1),
        ("host_read_properties", 1),
        ("host_write_requests", 1),
        ("host_write_properties", 1),
        *((f"{name}_dropped", 1) for name in BUSES),  # beats of R or B without a request, or late
    ),
)


def buckets(prs: Value) -> list[Value]:
    """Return the one-hot number of the bucket of ``prs``, which is at least 1."""
    result = [
        prs[k:].any() & ~prs[k + 1 :].any() if k + 1 < BUCKETS else prs[k:].any()
        for k in range(BUCKETS)
    ]
    return [Value.cast(bit) for bit in result]


def count_class(events: Any, name: str, sent: Any, received: Any) -> list:
    """Return statements that count a class's packets.

    ``sent`` are a concatenator's events, ``received`` a deconcatenator's.
    """
    return [
        events[f"{name}_sent_packets"].eq(sent.packet),
        events[f"{name}_sent_bytes"].eq(sent.bytes & sent.packet.replicate(14)),
        events[f"{name}_sent_prs"].eq(sent.prs & sent.packet.replicate(9)),
        events[f"{name}_stall"].eq(sent.stall),
        Cat(events[f"{name}_sent_prs_{1 << k}"] for k in range(BUCKETS)).eq(
            Cat(buckets(sent.prs)) & sent.packet.replicate(BUCKETS)
        ),
        events[f"{name}_received_packets"].eq(received.packet),
        events[f"{name}_received_bytes"].eq(received.bytes & received.packet.replicate(14)),
        events[f"{name}_received_prs"].eq(received.prs & received.packet.replicate(9)),
        Cat(events[f"{name}_dropped_{drop.name.lower()}"] for drop in Drop).eq(received.drops),
    ]


class SnicCounters(Component):
    """Counts the events of a SNIC; ``value`` is the counter number ``select``.

    See :class:`hdl.common.counter_bank.CounterBank`; :data:`SNIC_COUNTERS` has names and order.
    """

    def __init__(self, params: SnicParams) -> None:
        super().__init__(
            params,
            busy=In(1),
            sent=In(params.concatenator(True).events).array(len(CLASSES)),
            received=In(RECEIVED).array(len(CLASSES)),
            lost=In(1),
            filter=In(params.filter.events),
            read=In(HOST_EVENTS),
            write=In(HOST_EVENTS),
            dropped=In(len(BUSES)),
            clear=In(1),
            select=In(SNIC_COUNTERS.index_bits),
            value=Out(SNIC_COUNTERS.bits),
        )

    def build(self, m: Module) -> None:
        m.submodules.bank = bank = CounterBank(SNIC_COUNTERS)
        events = bank.events
        m.d.comb += [
            bank.clear.eq(self.clear),
            bank.select.eq(self.select),
            self.value.eq(bank.value),
            events.cycles.eq(self.busy),
            events.lost_responses.eq(self.lost),
            events.filter_near_hits.eq(self.filter.near),
            events.filter_hits.eq(self.filter.hit),
            events.filter_misses.eq(self.filter.miss),
            events.filter_write_backs.eq(self.filter.write_back),
            events.filter_fill_errors.eq(self.filter.fill_error),
            events.filter_write_errors.eq(self.filter.write_error),
            events.host_read_requests.eq(self.read.request),
            events.host_read_properties.eq(self.read.property),
            events.host_write_requests.eq(self.write.request),
            events.host_write_properties.eq(self.write.property),
            Cat(events[f"{name}_dropped"] for name in BUSES).eq(self.dropped),
        ]
        for name, sent, received in zip(CLASSES, self.sent, self.received, strict=True):
            m.d.comb += count_class(events, name, sent, received)
