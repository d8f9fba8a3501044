"""Checks what a SNIC connects: each input of each of its parts and pins."""

from amaranth.utils import ceil_log2

from hdl.common.rings import Fault
from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.host.host_reader import HostReader
from hdl.netsparse.host.host_writer import HostWriter
from hdl.netsparse.idx_filter.cache import FilterCache
from hdl.netsparse.queue.descriptor_fetch import DescriptorFetch
from hdl.netsparse.registers import constants, snic_registers
from hdl.netsparse.rig.unit import RigUnit
from hdl.netsparse.snic import Snic
from hdl.netsparse.work_queue import WorkQueue
from tests.hdl.netlist_bench import PINS, Table
from tests.sim.netsparse.cases import EIGHT

UNITS = range(EIGHT.units)
RINGS = EIGHT.units  #: the number of the rings among those that read and write host memory
CLASSES = ("reads", "responses")


def layout_of(component, port):
    return component.signature.members[port].shape


class SnicTable(Table):
    """Builds the table of a SNIC from its design and from the descriptions of its registers."""

    def __init__(self):
        super().__init__(Snic(EIGHT), clock=f"{PINS}.clk", rounds=200)
        registers = snic_registers(EIGHT)
        self.reported = self.fields("registers.control", registers.control)
        self.host = {
            "read": self.fields("reader.bus", layout_of(HostReader(EIGHT.host), "bus")),
            "write": self.fields("writer.bus", layout_of(HostWriter(EIGHT.host), "bus")),
        }
        self.dram = self.fields("filter.bus", layout_of(FilterCache(EIGHT.filter), "bus"))
        self.beat = self.fields("reader.beats", layout_of(HostReader(EIGHT.host), "beats"))
        self.done = self.fields("writer.done", layout_of(HostWriter(EIGHT.host), "done"))
        self.served_wrong = self.later(self.wrong_to_serve())
        self.filter_wrong = self.later(
            f"{self.wide('filter_address')} % 64 != 0"
            f" or {self.wide('filter_address')} >> {EIGHT.dram_address_bits} != 0"
        )

    def wrong_to_serve(self):
        size, address = self.reported["served_bytes"], self.wide("served_address")
        return (
            f"{size} == 0 or {size} % 4 != 0 or {size} > {EIGHT.rig.most_property_bytes}"
            f" or {address} % 4 != 0 or {address} >> {EIGHT.rig.address_bits} != 0"
        )


def test_wires(tmp_path):
    table = SnicTable()
    table.clocks()
    table.bus(f"{PINS}.s_axil", "registers.axil")
    table.bus(f"{PINS}.m_axi_dram", "filter.axi")
    for number in UNITS:
        add_unit(table, number)
    for k, kind in enumerate(CLASSES):
        add_sending(table, k, kind)
        add_receiving(table, k, kind)
    add_host(table)
    add_rings(table)
    add_work(table)
    add_counters(table)
    add_status(table)
    table.check(tmp_path)


def add_unit(table, number):
    unit, reported = f"unit_{number}", table.reported
    layouts = RigUnit(EIGHT.rig)
    table.stream(f"work.commands_{number}", f"{unit}.commands")
    table.stream(f"{unit}.completions", f"work.completions_{number}")
    table.stream(f"{unit}.filter_requests", f"filter.requests_{number}")
    for name in ("valid", "payload"):
        table.add(f"{unit}.filter_answers_{name}", f"filter.answers_{number}_{name}")
    table.stream(f"{unit}.prs", f"reads_arbiter.i_{number}")
    table.stream(f"{unit}.answers", f"responses_arbiter.i_{number}")
    table.stream(f"dispatch.o_{number}", f"{unit}.reads")
    table.stream(f"route.o_{number}", f"{unit}.responses")
    add_host_answers(table, number, unit, unit, layout_of(layouts, "beat"))
    table.struct(
        f"{unit}.partition",
        layout_of(layouts, "partition"),
        node=reported["node"],
        **{name: table.wide(name) for name in ("first", "end", "columns")},
    )
    table.struct(
        f"{unit}.boundary",
        layout_of(layouts, "boundary"),
        valid=reported["write_boundary"],
        node=reported["boundary_node"],
        boundary=table.wide("boundary"),
    )
    table.struct(
        f"{unit}.served",
        layout_of(layouts, "served"),
        address=table.wide("served_address"),
        bytes=reported["served_bytes"],
        legal=f"not {table.served_wrong}",
    )
    table.wire(
        **{
            unit: {
                "unit": number,
                "serve": f"{table.wide('server_units')} >> {number}",
                "coalesce": reported["coalesce"],
                "filter": reported["filter"],
            }
        }
    )
    table.add(f"unit_counters.events_{number}", f"{unit}.events")


def add_host_answers(table, number, reads, writes, beat):
    """Add answers of host memory, which are told by the number of who reads or writes."""
    table.stream(f"{reads}.demands", f"reader.requests_{number}")
    table.stream(f"{writes}.writes", f"writer.properties_{number}")
    reported = table.beat
    table.add(f"{reads}.beat_valid", f"{reported['valid']} and {reported['unit']} == {number}")
    fields = {name: reported[name] for name in ("last", "failed", "data")}
    table.struct(f"{reads}.beat", beat, **fields)
    reported = table.done
    table.add(f"{writes}.done", f"{reported['valid']} and {reported['unit']} == {number}")
    table.add(f"{writes}.write_failed", reported["failed"])


def add_sending(table, k, kind):
    arbiter, concatenator, reported = f"{kind}_arbiter", f"{kind}_concatenator", table.reported
    index = ceil_log2(EIGHT.units)  # who was chosen, below what it has offered
    table.add(f"{concatenator}.prs_payload", f"{arbiter}.o_payload >> {index}")
    table.add(f"{concatenator}.prs_valid", f"{arbiter}.o_valid")
    table.add(f"{arbiter}.o_ready", f"{concatenator}.prs_ready")
    table.struct(
        f"{concatenator}.settings",
        layout_of(Concatenator(EIGHT.concatenator(bool(k))), "settings"),
        delay=reported[f"{kind.removesuffix('s')}_delay"],
        concatenate=reported["concatenate"],
        node=reported["node"],
        mac_base=f"{reported['mac_base_low']} | {reported['mac_base_high']} << 32",
        ip_base=reported["ip_base"],
    )
    # Reads are flushed after 16 cycles without an idx (test_units); nothing stands still so long.
    table.add(f"{concatenator}.flush", 0)
    table.bus(f"{PINS}.m_axis_{kind}", f"{concatenator}.axis")
    sent = layout_of(Concatenator(EIGHT.concatenator(bool(k))), "events")
    result = table.fields(f"{concatenator}.events", sent)
    events = {name: result[name] for name in ("packet", "bytes", "prs", "stall")}
    table.struct(f"counters.sent_{k}", sent, **events, entered=0, marked=0)


def add_receiving(table, k, kind):
    sink = ("dispatch.reads", "route.responses")[k]
    deconcatenator = f"{kind}_deconcatenator"
    table.bus(f"{PINS}.s_axis_{kind}", f"{deconcatenator}.axis")
    if k:
        table.stream(f"{deconcatenator}.prs", "responses_skid.i")
        table.stream("responses_skid.o", sink)
    else:
        table.stream(f"{deconcatenator}.prs", sink)
    table.add(f"{deconcatenator}.node", table.reported["node"])
    table.add(f"counters.received_{k}", f"{deconcatenator}.events")


def add_host(table):
    """One reader and one writer share the bus of host memory."""
    for path in [*table.driven, *table.seen]:
        channel = path.removeprefix(f"{PINS}.m_axi_host_")
        if channel != path:
            part = "reader" if channel.startswith(("ar", "r")) else "writer"
            ends = (path, f"{part}.axi_{channel}")
            source, sink = ends if path in table.driven else ends[::-1]
            table.add(sink, source)
    reported = table.reported
    for part in ("reader", "writer"):
        table.add(f"{part}.aligned", reported["aligned"])
    for part in ("reader", "writer", "filter"):
        table.add(f"{part}.watch", f"timer.tick | {reported['revive_buses']} << 1")
    table.add("timer.limit", reported["memory_timeout"])


def add_rings(table):
    reported, fetch = table.reported, DescriptorFetch(EIGHT.rig)
    add_host_answers(table, RINGS, "fetch", "completion_ring", layout_of(fetch, "beat"))
    table.stream("fetch.o", "work.fetched")
    table.stream("work.entries", "completion_ring.completions")
    table.add("completion_ring.consumer", "fetch.consumer")
    for part, ring, index in (
        ("fetch", "request_ring", "request_producer"),
        ("completion_ring", "completion_ring", "completion_consumer"),
    ):
        table.struct(
            f"{part}.ring",
            layout_of(fetch, "ring"),
            enable=reported[ring],
            address=table.wide(f"{ring}_address"),
            size=reported[f"{ring}_size"],
            index=reported[index],
        )
    fault = f"fetch.fault != {Fault.NONE.value}"
    table.add(f"{PINS}.irq", f"work.completion_valid | completion_ring.irq | ({fault})")


def add_work(table):
    reported = table.reported
    clear = f"{reported['clear_filter']} and not {table.filter_wrong}"
    table.struct(
        "filter.control",
        layout_of(FilterCache(EIGHT.filter), "control"),
        base=table.wide("filter_address"),
        columns=table.wide("columns"),
        clear=clear,
    )
    table.struct(
        "work.request",
        layout_of(WorkQueue(EIGHT), "request"),
        tag=reported["request_tag"],
        idx_address=table.wide("idx_address"),
        count=reported["idx_count"],
        wide=reported["idx_wide"],
        property_address=table.wide("property_address"),
        property_bytes=reported["property_bytes"],
        watchdog=reported["watchdog"],
    )
    table.wire(
        work={
            "submit": reported["submit"],
            "unit": reported["request_unit"],
            "filter": reported["filter"],
            "filter_illegal": table.filter_wrong,
            "clear_filter": clear,
            "clients": f"~({table.wide('server_units')})",
            "next": reported["next_completion"],
            "to_ring": reported["completion_ring"],
        },
        dispatch={"servers": table.wide("server_units")},
    )


def add_counters(table):
    reported = table.reported
    busy = " | ".join(f"unit_{number}.busy" for number in UNITS)
    dropped = (table.host["read"], table.host["write"], table.dram)
    table.wire(
        counters={
            "busy": table.later(busy),
            "lost": "route.lost",
            "read": "reader.events",
            "write": "writer.events",
            "filter": "filter.events",
            "dropped": " | ".join(f"{bus['dropped']} << {k}" for k, bus in enumerate(dropped)),
            "clear": reported["clear_counters"],
            "select": reported["snic_counter"],
        },
        unit_counters={
            "clear": reported["clear_counters"],
            "part": reported["counter_unit"],
            "select": reported["unit_counter"],
        },
    )


def add_status(table):
    buses = {"host_read": table.host["read"], "host_write": table.host["write"], "dram": table.dram}
    completion = table.fields("work.completion", layout_of(WorkQueue(EIGHT), "completion"))
    ended = layout_of(WorkQueue(EIGHT), "completion")["completion"].shape
    tag, cause = (ended[name] for name in ("tag", "cause"))
    table.struct(
        "registers.status",
        snic_registers(EIGHT).status,
        **constants(EIGHT),
        **{
            f"{name}_{field}": bus[field]
            for name, bus in buses.items()
            for field in ("broken", "silent", "owes")
        },
        refused="work.refused",
        filter_busy="filter.busy",
        filter_broken="filter.broken",
        concatenating="not (reads_concatenator.empty and responses_concatenator.empty)",
        filter_illegal=table.filter_wrong,
        served_illegal=table.served_wrong,
        busy_units=table.later(" | ".join(f"unit_{k}.busy << {k}" for k in UNITS)),
        completion_valid="work.completion_valid",
        completion_unit=completion["unit"],
        completion_tag=f"{completion['completion']} >> {tag.offset}",
        completion_cause=f"{completion['completion']} >> {cause.offset}",
        request_ring_busy="fetch.busy",
        request_ring_fault="fetch.fault",
        request_consumer="fetch.consumer",
        completion_ring_busy="completion_ring.busy",
        completion_ring_full="completion_ring.full",
        completion_ring_fault="completion_ring.fault",
        completion_producer="completion_ring.written",
        unit_count="unit_counters.value",
        snic_count="counters.value",
    )
