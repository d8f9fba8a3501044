"""Checks what the switch connects: each input of each of its parts and pins."""

from dataclasses import replace

import pytest

from hdl.switch.job_table import JobTable
from hdl.switch.params import COMMAND
from hdl.switchgnn.switch.aggregation import AGGREGATION_EVENTS, Aggregation
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.judge.port_window import ACK_SETTINGS
from hdl.switchgnn.switch.registers import ERRORS, constants, gnn_switch_registers
from hdl.switchgnn.switch.switch import GnnSwitch
from hdl.switchgnn.switch.tables.table_registers import STATE_FIELDS
from tests.hdl.netlist_bench import PINS, Table, ago
from tests.hdl.switchgnn.switch.sizes import IN_MEMORY, ON_CHIP


class SwitchTable(Table):
    """Builds the table of a switch from what its parts say of their ports."""

    def __init__(self, params):
        super().__init__(GnnSwitch(params), clock=f"{PINS}.clk", rounds=400)
        self.size = params
        self.registers = gnn_switch_registers(params)
        self.reported = self.fields("registers.control", self.registers.control)


@pytest.mark.parametrize("params", [ON_CHIP, replace(IN_MEMORY, links=1)], ids=["chip", "links"])
def test_wires(params, tmp_path):
    table = SwitchTable(params)
    table.clocks()
    add_frames(table)
    add_host(table)
    add_jobs(table)
    add_judge(table)
    add_quiet(table)
    add_output_path(table)
    if params.links:
        add_links(table)
    add_status(table)
    add_counters(table)
    table.check(tmp_path)


def add_frames(table):
    """Frames come and go at the pins, and what they bring goes to the banks."""
    reported = table.reported
    for k in range(table.size.ports):
        table.bus(f"{PINS}.s_axis_{k}", f"ingress.axis_{k}")
        table.bus(f"{PINS}.m_axis_{k}", f"egress.axis_{k}")
    table.stream("ingress.payloads", "aggregation.payloads")
    table.stream("preparation.fence", "queue.fence")
    table.stream("turns.load", "queue.load")
    table.stream("queue.tasks", "aggregation.tasks")
    table.stream("queue.lists", "aggregation.lists")
    table.wire(
        ingress={"address": table.wide("switch_address"), "mark_level": reported["ingress_mark"]},
        egress={"congested": "ingress.congested"},
    )


def add_host(table):
    """The host fills tables and commands jobs."""
    reported, size = table.reported, table.size
    table.bus(f"{PINS}.s_axil", "registers.axil")
    table.wire(
        writer={
            "table": reported["table"],
            "row": reported["table_row"],
            "begin": reported["begin_table"],
            "word": reported["table_word"],
            "push": reported["write_word"],
        },
        turns={
            "write": "writer.write_step",
            "write_step": "writer.at",
            "written": "writer.step",
            "started": reported["job_number"],
        },
        aggregation={"error_job": reported["job_number"]},
    )
    table.struct(
        "jobs.command",
        COMMAND,
        start=reported["start_job"],
        stop=reported["stop_job"],
        job=reported["job_number"],
        count=reported["job_depth"],
        **{name: reported[f"job_{name}"] for name in ("ports", "epoch", "base")},
    )
    table.struct(
        "turns.tables",
        size.job_tables,
        two=reported["job_two"],
        lists=side_by_side(size.row_bits, reported["job_list_base"], reported["job_list_rows"]),
        last_step=reported["job_last_step"],
        **{name: reported[f"job_{name}"] for name in size.maximum},
    )
    if not size.in_memory:
        names = ("write_list", "write_descriptors", "at", "list_row", "descriptor_row")
        table.wire(aggregation={name: f"writer.{name}" for name in names})
        return
    memory = size.table_memory
    table.struct(
        "aggregation.table_settings",
        memory.settings,
        bases=side_by_side(memory.line_bits, reported["list_line"], reported["descriptor_line"]),
        timeout=reported["table_timeout"],
        revive=reported["revive_tables"],
        clear=reported["clear_counters"],
    )
    for k in range(memory.ports):
        table.bus(f"{PINS}.m_axi_tables_{k}", f"aggregation.m_axi_tables_{k}")


def side_by_side(bits, low, high):
    """Return two numbers of this many bits in one."""
    return f"({low}) & {(1 << bits) - 1} | (({high}) & {(1 << bits) - 1}) << {bits}"


def add_jobs(table):
    """A job that starts is prepared, and all parts know of the jobs that there are."""
    job = f"({table.reported['job_number']} & {(1 << table.size.job_bits) - 1})"
    table.wire(
        preparation={
            "preparing": "jobs.preparing",
            "busy": "aggregation.busy",
            "fenced": "aggregation.fenced",
            "leaving": "aggregation.leaving",
        },
        jobs={"prepared": "preparation.prepared"},
        turns={"begin": "preparation.begin", "table": "jobs.table"},
        aggregation={
            "begin": f"preparation.begin << {job}",
            "ports": "turns.ports",
            "regions": "turns.regions",
        },
    )


def add_judge(table):
    """Frames pass from the ports to their jobs, the judge, and the tasks."""
    reported = table.reported
    header = table.fields("jobs.ahead", JobTable(table.size).signature.members["ahead"].shape)
    brought = f"{ago(1, 'ingress.valid')} & {ago(1, 'ingress.brings')}"
    table.struct(
        "judge.settings", ACK_SETTINGS, every=reported["ack_every"], delay=reported["ack_delay"]
    )
    table.wire(
        jobs={
            "packet_valid": "ingress.valid",
            "sender": "ingress.sender",
            "packet": "ingress.packet",
        },
        judge={
            "valid": "jobs.valid",
            "refused": "jobs.refused",
            "request": "jobs.request",
            "brings": table.later(table.later(brought, 1)),
            "ahead": "jobs.ahead",
            "about": "turns.about",
            "regions": "turns.regions",
            "port_jobs": "turns.ports",
            "clear": "turns.clear",
            "acked": "egress.acked",
        },
        turns={
            "job": header["job"],
            "turn": header["turn"],
            "done": "judge.done",
            "done_job": "judge.done_job",
            "sender": "judge.done_sender",
        },
        queue={"valid": "judge.task_valid", "task": "judge.task"},
    )


def add_quiet(table):
    """No frame comes, and none is under way between the ports and the judge's end."""
    table.add("ingress.hold", holds(table, 0))
    table.add("turns.quiet", is_quiet(table, 0))
    for path in ("ingress.valid", "judge.busy"):  # which nothing follows, where all is quiet
        table.limits[path] = f"not {is_quiet(table, 1)}"


def holds(table, clocks):
    demands = f"{ago(clocks, 'queue.hold')} | {ago(clocks, 'turns.ends')}"
    return table.later(demands, clocks)


def is_quiet(table, clocks):
    last = clocks + 1
    two_ago = table.later(table.later(ago(clocks + 2, "ingress.valid"), clocks + 2), last)
    frames = [
        ago(clocks, "ingress.valid"),
        table.later(ago(last, "ingress.valid"), last),
        two_ago,
        ago(clocks, "judge.busy"),
    ]
    return table.later(f"not ({' | '.join(frames)}) and {holds(table, last)}", clocks)


def add_output_path(table):
    """Sums and features leave, and so does what workers are told."""
    reported = table.reported
    table.wire(
        egress={
            "destination": table.wide("group_address"),
            "source": table.wide("switch_address"),
            "mark_level": reported["egress_mark"],
            "jobs": "turns.ports",
            "claim": "aggregation.claim",
            "deliver": "aggregation.deliver",
            "delivery": "aggregation.delivery",
            "advance": "turns.advance | judge.over",
            "raw_request": "judge.raw_request",
            "raw_request_to": "judge.raw_request_to",
            **{f"acks_{k}": f"judge.acks_{k}" for k in range(table.size.ports)},
        },
        aggregation={"open": "egress.open", "urgent": "egress.urgent"},
    )


def add_links(table):
    """The last port leads to another switch."""
    reported, size = table.reported, table.size
    two = size.port_region["two"].offset
    bits = size.port_region.size
    table.wire(
        judge={"above": reported["above"]},
        turns={"above": reported["above"], "advanced": "judge.advanced"},
        egress={
            "above": reported["above"],
            "far_port": reported["far_port"],
            "link_timeout": reported["link_timeout"],
            "two": " | ".join(
                f"(turns.regions >> {k * bits + two} & 1) << {k}" for k in range(size.ports)
            ),
            "clear": "turns.clear",
            "link_ack": "judge.link_ack",
            "link_ack_to": "judge.link_ack_to",
            "mark_to": "judge.mark_to",
        },
    )


def layout_of(table, port):
    return Aggregation(table.size).signature.members[port].shape


def add_status(table):
    """The host reads all that it may."""
    errors = table.fields("aggregation.errors", layout_of(table, "errors"))
    first = table.fields("aggregation.first_error", layout_of(table, "first_error"))
    memory = {}
    if table.size.in_memory:
        state = table.fields("aggregation.table_state", layout_of(table, "table_state"))
        memory = {field: state[name] for field, name in STATE_FIELDS.items()}
    exists = table.later(f"{table.reported['counter_port']} < {table.size.ports}")
    table.struct(
        "registers.status",
        table.registers.status,
        **constants(table.size),
        **memory,
        busy="jobs.busy",
        refused="jobs.reason != 0",
        reason="jobs.reason",
        active_jobs="jobs.active",
        clearing_banks="aggregation.busy",
        clearing_counters="verdicts.busy",
        **{f"error_{name}": errors[name] for name in ERRORS},
        **{f"first_{name}": first[name] for name in ("cause", "turn", "row", "aggregator")},
        verdict_count=f"verdicts.value * {exists}",
        port_count="port_counters.value",
        total_count="totals.value",
    )


def add_counters(table):
    """Events are counted, and the chosen counters are shown."""
    reported, size = table.reported, table.size
    events = {
        "overflows": "ingress.overflows",
        "results": "egress.sent_results",
        "raws": "egress.sent_raws",
        "marks": "egress.marks",
        "raws_dropped": "aggregation.raws_dropped",
        "requests_dropped": "egress.requests_dropped",
    }
    links = {
        "partials": "egress.sent_partials",
        "partials_again": "egress.partials_again",
        "acks_unknown": "egress.acks_unknown",
    }
    for k in range(size.ports):
        seen = events | (links if size.links else {})
        bits = {name: f"{path} >> {k}" for name, path in seen.items()}
        table.struct(f"port_counters.events_{k}", port_counters(size).events, **bits)
    result = table.fields("aggregation.events", layout_of(table, "events"))
    ended = " + ".join(f"(turns.ended >> {k} & 1)" for k in range(size.jobs))
    table.struct(
        "totals.events",
        TOTAL_COUNTERS.events,
        **{name: result[name] for name in AGGREGATION_EVENTS},
        turns=ended,
    )
    clear = reported["clear_counters"]
    table.wire(
        verdicts={
            "clear": clear,
            "verdict": "judge.verdict",
            "source": "judge.sender",
            "number": reported["counter_port"],
            "of": reported["counter_verdict"],
        },
        port_counters={
            "clear": clear,
            "part": reported["counter_port"],
            "select": reported["port_counter"],
        },
        totals={"clear": clear, "select": reported["total_counter"]},
    )
