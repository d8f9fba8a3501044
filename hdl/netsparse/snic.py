"""Connects a SNIC: RIG units, idx filter, concatenation, memories, network and host."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_read_port import full_bus
from hdl.common.bus_watch import BusTimer
from hdl.common.component import Component
from hdl.common.counter_banks import CounterBanks
from hdl.common.local_reset import BLOCK_RESET_CYCLES, add_block
from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.register_block import RegisterBlock
from hdl.common.ring_registers import set_ring
from hdl.common.rings import Fault
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import cut_ready, forward
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.deconcatenator import Deconcatenator
from hdl.netsparse.host.host_reader import HostReader
from hdl.netsparse.host.host_writer import HostWriter
from hdl.netsparse.host.pcie_path import BLOCK_PORTS, PciePath
from hdl.netsparse.idx_filter.cache import FilterCache
from hdl.netsparse.limits import MAX_UNITS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.protocol import READ_PR, RESPONSE_BEAT
from hdl.netsparse.queue.completion_ring import CompletionRing
from hdl.netsparse.queue.descriptor_fetch import DescriptorFetch
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.routing import ReadDispatch, ResponseRoute, UnitsParams
from hdl.netsparse.snic_counters import BUSES, UNIT_COUNTERS, SnicCounters
from hdl.netsparse.work_queue import WorkQueue

SETTLING = 16  #: cycles, at least those from a unit to the queues of a concatenator


@dataclass(frozen=True, kw_only=True)
class HostPorts:
    """Holds the ports to host memory for units and rings, the same for both host buses."""

    requests: Any  #: requests of properties, a stream for each unit
    beats: Any  #: beats of properties that were read
    properties: Any  #: properties to be written, a stream for each unit
    done: Any  #: ends of writes
    events: tuple[Any, Any]  #: events of reads and of writes
    watches: tuple[Any, ...]
    buses: tuple[Any, Any]  #: states of the buses of reads and of writes


def whole(settings: Any, name: str) -> Value:
    """Return the number that registers NAME_low and NAME_high hold together."""
    return Cat(settings[f"{name}_low"], settings[f"{name}_high"])


def host_ports(params: SnicParams) -> dict[str, Any]:
    """Return the ports to host memory: an AXI4 master, or a requester's ports to the block."""
    if not params.over_pcie:
        return {"m_axi_host": Out(full_bus(params.host.read_port, params.host.write_port))}
    ports = PciePath(params.host).signature.members
    return {name: ports[name] for name in (*BLOCK_PORTS, "function")}


class Snic(Component):
    """Gathers properties of other nodes, as a NIC (NetSparse, sections 5 and 6.1, figure 4).

    The host submits work requests and reads completions, settings and counters through ``s_axil``
    (:mod:`hdl.netsparse.registers`); requests and completions may also use rings in host memory.
    ``irq`` is high while there is a completion that the host has not read, or a ring has a fault.
    Client units read idxs from host memory, request their properties from other nodes and write
    these to host memory; server units answer other nodes.

    ``m_axi_host`` is host memory, with requests inside lines of 128 bytes. With ``params.host_bus``
    pcie, host memory is reached through ``rq`` and ``rc`` of AMD's block for PCI Express instead,
    with the block's other signals (:class:`hdl.pcie.requester.Requester`); reads are as large as
    the host allows, they keep to the setting ``share`` of the bus, and ``aligned`` has no effect.
    ``m_axi_dram`` is the SNIC's own memory, with the idx filter. Packets
    (:mod:`hdl.netsparse.protocol`) of reads and of responses have a pair of streams each, so that
    they do not block each other; ``s_axis`` of responses is always taken in the end, that of reads
    as long as responses can leave.

    If a memory answers with more or fewer beats than requested, or not within ``memory_timeout``,
    all requests to its bus fail, and later ones fail at once; the state ``buses`` shows this, and
    ``revive_buses`` recovers the bus when it owes nothing.

    Throughput: a PR and 64 bytes of packets a cycle, in each direction; an idx a cycle for each
    unit.
    """

    register_map = staticmethod(snic_registers)
    reset_cycles = BLOCK_RESET_CYCLES

    def __init__(self, params: SnicParams) -> None:
        self.registers = snic_registers(params)
        receiver = Deconcatenator(params.deconcatenator(True))
        self.latencies = {
            "PR that stands alone to its packet's header": Concatenator(
                params.concatenator(True)
            ).latency,
            "packet's last beat to its first PR": receiver.latency,
        }
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            **host_ports(params),
            m_axi_dram=Out(FilterCache(params.filter).axi.signature),
            m_axis_reads=Out(AXIS),
            m_axis_responses=Out(AXIS),
            s_axis_reads=In(AXIS),
            s_axis_responses=In(AXIS),
            irq=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.submodules.work = work = WorkQueue(params)
        filter_ = FilterCache(params.filter)
        add_block(m, "filter", filter_)
        connect(m, flipped(self.s_axil), registers.axil)
        connect(m, filter_.axi, flipped(self.m_axi_dram))
        units = [RigUnit(params.rig) for _ in range(params.units)]
        for k, unit in enumerate(units):
            add_block(m, f"unit_{k}", unit)
            connect(m, work.commands[k], unit.commands)
            connect(m, unit.completions, work.completions[k])
            connect(m, unit.filter_requests, filter_.requests[k])
            connect(m, filter_.answers[k], unit.filter_answers)
        events = SnicCounters(params)
        m.submodules.counters = events
        self.send(m, registers, units, events)
        self.receive(m, registers, units, events)
        host = self.reach_host(m, registers, units, events)
        self.add_rings(m, registers, work, host)
        self.settle(m, registers, units, work, filter_)
        self.report(m, registers, units, work, filter_, events)
        self.watch_buses(m, registers, host, filter_, events)

    def send(
        self, m: Module, registers: RegisterBlock, units: list[RigUnit], events: SnicCounters
    ) -> None:
        """Connect PRs and answers of all units to the concatenators."""
        params, settings = self.params, registers.control
        kinds = (
            ("reads", READ_PR, None, settings.read_delay),
            ("responses", RESPONSE_BEAT, RESPONSE_BEAT["last"].offset, settings.response_delay),
        )
        waiting = []
        for k, (name, layout, last_bit, delay) in enumerate(kinds):
            m.submodules[f"{name}_arbiter"] = arbiter = StreamArbiter.sized(
                shape=layout, count=params.units, last_bit=last_bit
            )
            concatenator = Concatenator(params.concatenator(bool(k)))
            add_block(m, f"{name}_concatenator", concatenator)
            for source, turn in zip(units, arbiter.i, strict=True):
                provided = source.answers if k else source.prs
                connect(m, provided, turn)
            m.d.comb += [
                *forward(arbiter.o, concatenator.prs),
                concatenator.prs.payload.eq(arbiter.o.payload.payload),
                concatenator.settings.delay.eq(low_bits(delay, len(concatenator.settings.delay))),
                concatenator.settings.concatenate.eq(settings.concatenate),
                concatenator.settings.node.eq(settings.node),
                concatenator.settings.mac_base.eq(whole(settings, "mac_base")),
                concatenator.settings.ip_base.eq(settings.ip_base),
                *(
                    events.sent[k][field].eq(concatenator.events[field])
                    for field in ("packet", "bytes", "prs", "stall")
                ),
            ]
            connect(m, concatenator.axis, flipped(getattr(self, f"m_axis_{name}")))
            waiting.append(~concatenator.empty)
            if not k:
                self.flush(m, units, concatenator)
        m.d.comb += registers.status.concatenating.eq(Cat(waiting).any())

    def flush(self, m: Module, units: list[RigUnit], reads: Concatenator) -> None:
        """Flush reads when no unit has an idx left, because no other PRs will come."""
        quiet = Signal(range(SETTLING + 1))  # cycles without an idx, as PRs may be on their way
        m.d.comb += reads.flush.eq(quiet == SETTLING)
        with m.If(~Cat(unit.quiet for unit in units).all()):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != SETTLING):
            m.d.sync += quiet.eq(quiet + 1)

    def receive(
        self, m: Module, registers: RegisterBlock, units: list[RigUnit], events: SnicCounters
    ) -> None:
        """Connect the deconcatenators: reads go to the servers, responses to the clients."""
        settings = registers.control
        count = UnitsParams(units=self.params.units)
        m.submodules.dispatch = dispatch = ReadDispatch(count)
        m.submodules.route = route = ResponseRoute(count)
        kinds = (("reads", dispatch.reads), ("responses", route.responses))
        for k, (name, sink) in enumerate(kinds):
            m.submodules[f"{name}_deconcatenator"] = deconcatenator = Deconcatenator(
                self.params.deconcatenator(bool(k))
            )
            connect(m, flipped(getattr(self, f"s_axis_{name}")), deconcatenator.axis)
            if k:  # which unit is ready depends on the response
                cut_ready(m, "responses_skid", deconcatenator.prs, sink)
            else:
                connect(m, deconcatenator.prs, sink)
            m.d.comb += [
                deconcatenator.node.eq(settings.node),
                events.received[k].eq(deconcatenator.events),
            ]
        m.d.comb += [
            dispatch.servers.eq(whole(settings, "server_units")[: len(units)]),
            events.lost.eq(route.lost),
        ]
        for k, unit in enumerate(units):
            connect(m, dispatch.o[k], unit.reads)
            connect(m, route.o[k], unit.responses)

    def reach_host(
        self, m: Module, registers: RegisterBlock, units: list[RigUnit], events: SnicCounters
    ) -> HostPorts:
        """Add the path of all units to host memory; return its ports, with those for the rings."""
        add = self.add_pcie if self.params.over_pcie else self.add_masters
        host = add(m, registers)
        m.d.comb += [events.read.eq(host.events[0]), events.write.eq(host.events[1])]
        for k, unit in enumerate(units):
            connect(m, unit.demands, host.requests[k])
            connect(m, unit.writes, host.properties[k])
            m.d.comb += [
                unit.beat_valid.eq(host.beats.valid & (host.beats.unit == k)),
                *(unit.beat[field].eq(host.beats[field]) for field in ("last", "failed", "data")),
                unit.done.eq(host.done.valid & (host.done.unit == k)),
                unit.write_failed.eq(host.done.failed),
            ]
        return host

    def add_masters(self, m: Module, registers: RegisterBlock) -> HostPorts:
        """Add a reader and a writer, which together are one AXI4 master."""
        m.submodules.reader = reader = HostReader(self.params.host)
        m.submodules.writer = writer = HostWriter(self.params.host)
        for part in (reader, writer):
            for name, member in part.axi.signature.members.items():
                inside, outside = getattr(part.axi, name), getattr(self.m_axi_host, name)
                m.d.comb += outside.eq(inside) if member.flow == Out else inside.eq(outside)
            m.d.comb += part.aligned.eq(registers.control.aligned)
        return HostPorts(
            requests=reader.requests,
            beats=reader.beats,
            properties=writer.properties,
            done=writer.done,
            events=(reader.events, writer.events),
            watches=(reader.watch, writer.watch),
            buses=(reader.bus, writer.bus),
        )

    def add_pcie(self, m: Module, registers: RegisterBlock) -> HostPorts:
        """Add a requester of PCI Express, which all units share."""
        m.submodules.path = path = PciePath(self.params.host)
        connect(m, path.rq, flipped(self.rq))
        connect(m, flipped(self.rc), path.rc)
        connect(m, flipped(self.function), path.function)
        m.d.comb += [
            getattr(path, name).eq(getattr(self, name)) for name in ("limits", "credits", "numbers")
        ]
        m.d.comb += path.share.eq(registers.control.share)
        return HostPorts(
            requests=path.requests,
            beats=path.beats,
            properties=path.properties,
            done=path.done,
            events=(path.read_events, path.write_events),
            watches=(path.watch,),
            buses=(path.read_bus, path.write_bus),
        )

    def watch_buses(
        self,
        m: Module,
        registers: RegisterBlock,
        host: HostPorts,
        filter_: FilterCache,
        events: SnicCounters,
    ) -> None:
        """Connect the watch of memory buses: answers without a request, and time-outs."""
        m.submodules.timer = timer = BusTimer.sized()
        m.d.comb += timer.limit.eq(registers.control.memory_timeout)
        for watch in (*host.watches, filter_.watch):
            m.d.comb += [
                watch.tick.eq(timer.tick),
                watch.revive.eq(registers.control.revive_buses),
            ]
        for k, (name, bus) in enumerate(zip(BUSES, (*host.buses, filter_.bus), strict=True)):
            m.d.comb += [
                registers.status[f"{name}_{field}"].eq(bus[field])
                for field in ("broken", "silent", "owes")
            ]
            m.d.comb += events.dropped[k].eq(bus.dropped)

    def add_rings(
        self, m: Module, registers: RegisterBlock, work: WorkQueue, host: HostPorts
    ) -> None:
        """Add rings of work requests and completions.

        They use the last ports of the reader and the writer of host memory.
        """
        settings, status, last = registers.control, registers.status, self.params.units
        m.submodules.fetch = fetch = DescriptorFetch(self.params.rig)
        m.submodules.completion_ring = entries = CompletionRing(self.params)
        connect(m, fetch.demands, host.requests[last])
        connect(m, fetch.o, work.fetched)
        connect(m, work.entries, entries.completions)
        connect(m, entries.writes, host.properties[last])
        for name, part, index in (
            ("request_ring", fetch, settings.request_producer),
            ("completion_ring", entries, settings.completion_consumer),
        ):
            set_ring(m, part.ring, settings, name, index)
            m.d.comb += [
                status[f"{name}_busy"].eq(part.busy),
                status[f"{name}_fault"].eq(part.fault),
            ]
        m.d.comb += [
            fetch.beat_valid.eq(host.beats.valid & (host.beats.unit == last)),
            *(fetch.beat[field].eq(host.beats[field]) for field in ("last", "failed", "data")),
            entries.done.eq(host.done.valid & (host.done.unit == last)),
            entries.write_failed.eq(host.done.failed),
            entries.consumer.eq(fetch.consumer),
            work.to_ring.eq(settings.completion_ring),
            status.request_consumer.eq(fetch.consumer),
            status.completion_producer.eq(entries.written),
            status.completion_ring_full.eq(entries.full),
            self.irq.eq(work.completion_valid | entries.irq | (fetch.fault != Fault.NONE)),
        ]

    def settle(
        self,
        m: Module,
        registers: RegisterBlock,
        units: list[RigUnit],
        work: WorkQueue,
        filter_: FilterCache,
    ) -> None:
        """Connect the host's settings to the parts."""
        settings, status = registers.control, registers.status
        servers = whole(settings, "server_units")[: len(units)]

        def set_whole(target: Value, name: str):
            return target.eq(low_bits(whole(settings, name), len(target)))

        filter_address, served = (whole(settings, f"{n}_address") for n in ("filter", "served"))
        self.judge(m, status, filter_address, served, settings)
        clear = settings.clear_filter & ~status.filter_illegal
        m.d.comb += [
            set_whole(filter_.control.base, "filter_address"),
            set_whole(filter_.control.columns, "columns"),
            filter_.control.clear.eq(clear),
            work.clear_filter.eq(clear),
            work.filter.eq(settings.filter),
            work.filter_illegal.eq(status.filter_illegal),
            work.submit.eq(settings.submit),
            work.unit.eq(settings.request_unit),
            work.clients.eq(~servers),
            work.next.eq(settings.next_completion),
            work.request.tag.eq(settings.request_tag),
            set_whole(work.request.idx_address, "idx_address"),
            work.request.count.eq(settings.idx_count),
            work.request.wide.eq(settings.idx_wide),
            set_whole(work.request.property_address, "property_address"),
            work.request.property_bytes.eq(settings.property_bytes),
            work.request.watchdog.eq(settings.watchdog),
        ]
        for k, unit in enumerate(units):
            m.d.comb += [
                unit.unit.eq(k),
                unit.serve.eq(servers[k]),
                unit.partition.node.eq(settings.node),
                set_whole(unit.partition.first, "first"),
                set_whole(unit.partition.end, "end"),
                set_whole(unit.partition.columns, "columns"),
                unit.boundary.valid.eq(settings.write_boundary),
                unit.boundary.node.eq(low_bits(settings.boundary_node, len(unit.boundary.node))),
                set_whole(unit.boundary.boundary, "boundary"),
                set_whole(unit.served.address, "served_address"),
                unit.served.bytes.eq(settings.served_bytes),
                unit.served.legal.eq(~status.served_illegal),
                unit.coalesce.eq(settings.coalesce),
                unit.filter.eq(settings.filter),
            ]

    def judge(self, m: Module, status, filter_address: Value, served: Value, settings) -> None:
        """Check the addresses and sizes that the host has set for the filter and the servers."""
        size = settings.served_bytes
        m.d.sync += [
            status.filter_illegal.eq(
                filter_address[: ceil_log2(BEAT_BYTES)].any()
                | filter_address[self.params.dram_address_bits :].any()
            ),
            status.served_illegal.eq(
                (size == 0)
                | size[:2].any()
                | (size > self.params.rig.most_property_bytes)
                | served[:2].any()
                | served[self.params.rig.address_bits :].any()
            ),
        ]

    def report(
        self,
        m: Module,
        registers: RegisterBlock,
        units: list[RigUnit],
        work: WorkQueue,
        filter_: FilterCache,
        counters: SnicCounters,
    ) -> None:
        """Connect the state of units, queues and counters to registers."""
        settings, status = registers.control, registers.status
        m.submodules.unit_counters = unit_counters = CounterBanks.sized(
            counters=UNIT_COUNTERS, count=self.params.units, named=MAX_UNITS
        )
        busy = Signal(self.params.units)
        m.d.sync += busy.eq(Cat(unit.busy for unit in units))
        m.d.comb += [status[name].eq(value) for name, value in constants(self.params).items()]
        m.d.comb += [
            *(e.eq(unit.events) for e, unit in zip(unit_counters.events, units, strict=True)),
            unit_counters.clear.eq(settings.clear_counters),
            unit_counters.part.eq(settings.counter_unit),
            unit_counters.select.eq(settings.unit_counter),
            counters.clear.eq(settings.clear_counters),
            counters.select.eq(settings.snic_counter),
            counters.busy.eq(busy.any()),
            counters.filter.eq(filter_.events),
            status.unit_count.eq(unit_counters.value),
            status.snic_count.eq(counters.value),
            status.busy_units.eq(busy),
            status.refused.eq(work.refused),
            status.filter_busy.eq(filter_.busy),
            status.filter_broken.eq(filter_.broken),
            status.completion_valid.eq(work.completion_valid),
            status.completion_unit.eq(work.completion.unit),
            status.completion_tag.eq(work.completion.completion.tag),
            status.completion_cause.eq(work.completion.completion.cause),
        ]
