"""Finds what the programming guide of P4SGD's switch says, with tenants and parents if it has any.

MINA's switch is this one with both.
"""

from collections.abc import Iterator
from typing import Any

from gen.guides import p4sgd_switch_uses as uses
from gen.guides.guide import (
    board_facts,
    counted,
    facts,
    filled,
    lines,
    little_rows,
    number_of,
    reported,
    tables,
)
from gen.guides.p4sgd_frames import frame_values
from hdl.p4sgd.network.frame import ETHERTYPE_ON_WIRE, FRAME_BYTES, LANES, VERSION, Frame
from hdl.p4sgd.network.tree_frame import LEVEL_BITS, MORE_BYTES, SUM_BITS
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.registers import constants, switch_registers
from hdl.switch.control_port import CONTROL_COUNTED, CONTROL_COUNTERS
from hdl.switch.params import WHY_REFUSED
from hdl.switch.slots import PAYLOAD_BITS, USES
from hdl.switch.tenancy_head import REASONS, TenancyHead, TenancyKind
from hdl.switch.tenant_counters import TENANT_COUNTED, TENANT_COUNTERS
from hdl.u280.cmac_ip import CAGES
from hdl.u280.pcie_ip import BRIDGE, BRIDGE_ID

#: of the known answer: Ethernet addresses as bytes, and what two workers of job 1 send
SWITCH, GROUP, WORKERS = b"\x02\0\0\0\0\x10", b"\x03\0\0\0\0\x01", b"\x02\0\0\0\0\0"
EPOCH, MAX_SLOTS = 9, 4
ACTIVATIONS = (
    (1, -1, 0x7FFF_FFFF, -0x8000_0000, 0, 100, -7, 5),
    (2, -2, 1, -1, 0, -100, 7, 5),
)
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "addresses_rows": "switch_address group_address parent_address place_at_parents",
    "sharing_rows": "sharing control_ports",
    "job_rows": "job job_number job_epoch job_ports job_base job_slots job_parent job_force",
    "state_rows": "identity version sizes commands state active_jobs owner owner_epoch"
    " registered_jobs draining_jobs unfinished_jobs granted_epoch",
    "counters_rows": "counter_select verdicts overflows answers_sent answers_dropped packets cycles"
    " saturations tenant_select tenant_count tenant_verdicts control_counter control_count",
}
ALSO = {"ports": "P", "jobs": "J", "slots": "S"}


def guide(params: SwitchParams) -> str:
    """Return the programming guide of a switch, in Markdown."""
    return filled("p4sgd_switch.md.j2", values(params))


def values(params: SwitchParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = switch_registers(params)
    verdicts = {item.name: item.value for item in params.verdict}
    absent = () if params.parents else uses.OF_PARENTS
    reasons = REASONS if params.tenants else WHY_REFUSED
    return {
        "params": params,
        "package": f"{registers.name}_host",
        "name": "a MINA switch" if params.tenants else "a P4SGD switch",
        "P": params.ports,
        "J": params.jobs,
        "S": params.slots,
        **facts(registers, constants(params)),
        **frame_values(params.shadow),
        "longer": FRAME_BYTES + MORE_BYTES,
        "lanes": LANES,
        "uses": USES,
        "level_bits": LEVEL_BITS,
        "sum_bits": SUM_BITS,
        "head": list(little_rows(TenancyHead.as_shape(), uses.HEAD_USES)),
        "kinds": reported(TenancyKind),
        "verdicts": [
            (verdicts[name], name, what)
            for name, what in uses.VERDICTS.items()
            if name in verdicts and name not in absent
        ],
        "judged": [name for name in uses.JUDGED if name in verdicts and name not in absent],
        "reasons": [(item.value, item.name, why) for item, why in reasons.items()],
        "tenant_counters": counted(TENANT_COUNTERS, TENANT_COUNTED),
        "control_counters": counted(CONTROL_COUNTERS, CONTROL_COUNTED),
        **tables(registers, TABLES, ALSO),
        **board_facts("links", cages=CAGES, hbm=False),
        "header_bytes": params.frames.header_bytes,
        "bar": dict(BRIDGE.config)["pf0_bar0_size"],
        "device": BRIDGE_ID,
        "cages": CAGES,
        "known": known_answer(params),
    }


def known_answer(params: SwitchParams) -> dict[str, Any] | None:
    """Return an AllReduce of two workers, frame by frame; None for a build that cuts numbers."""
    if (params.lanes, params.value_bits) != (LANES, PAYLOAD_BITS):
        return None
    job, slots = min(1, params.jobs - 1), min(MAX_SLOTS, params.slots // 2)
    return {
        "switch": SWITCH.hex(" "),
        "group": GROUP.hex(" "),
        "job": job,
        "epoch": EPOCH,
        "base": slots,
        "slots": slots,
        "steps": list(known_steps({"job": job, "epoch": EPOCH, "seq": slots}, params.shadow)),
        "commands": [lines(each) for each in known_commands(job, slots)] if params.tenants else [],
    }


def known_steps(same: dict[str, int], shadow: bool) -> Iterator[dict[str, Any]]:
    """Yield what comes to the switch, and its answer; ``same`` are the fields of all frames.

    With ``shadow`` copies of sums, there is nothing to acknowledge.
    """
    exact = [sum(lanes) for lanes in zip(*ACTIVATIONS, strict=True)]
    most = (1 << PAYLOAD_BITS - 1) - 1
    clamped = [max(-most - 1, min(value, most)) for value in exact]
    saturated = sum((a != b) << k for k, (a, b) in enumerate(zip(exact, clamped, strict=True)))
    down = same | {"destination": GROUP, "source": SWITCH, "bm": 3}
    up = [
        same | {"destination": SWITCH, "source": WORKERS[:5] + bytes([port]), "bm": 1 << port}
        for port in range(2)
    ]
    partials = [
        frame(**each, is_agg=1, payload=payload)
        for each, payload in zip(up, ACTIVATIONS, strict=True)
    ]
    pending = frame(**(down | {"bm": 1}), is_agg=1, acked=1)
    full = frame(**down, is_agg=1, payload=clamped, saturated=saturated)
    acks = (
        (0, "an acknowledgement", frame(**up[0]), "nothing", b""),
        (1, "an acknowledgement", frame(**up[1]), "acked, to both ports", frame(**down, acked=1)),
    )
    for port, owner, sent, what, answer in (
        (0, "a partial activation", partials[0], "nothing", b""),
        (0, "the same again", partials[0], "pending, to port 0", pending),
        (1, "a partial activation", partials[1], "the sum, to both ports", full),
        *(() if shadow else acks),
    ):
        yield {
            "port": port,
            "who": owner,
            "frame": lines(sent),
            "what": what,
            "answer": lines(answer),
        }


def frame(**fields: Any) -> bytes:
    """Return a frame of these fields; addresses are bytes in the order of the wire."""
    fields = {
        name: int.from_bytes(value, "little") if isinstance(value, bytes) else value
        for name, value in fields.items()
    }
    same = {"ethertype": ETHERTYPE_ON_WIRE, "version": VERSION}
    return number_of(Frame.as_shape(), same | fields).to_bytes(FRAME_BYTES, "little")


def known_commands(job: int, slots: int) -> list[bytes]:
    """Return the frames that register the known answer's job, and acquire the switch for it."""
    same = {
        "destination": int.from_bytes(SWITCH, "little"),
        "source": int.from_bytes(WORKERS, "little"),
        "ethertype": ETHERTYPE_ON_WIRE,
        "version": VERSION,
        "job": job,
    }
    entry = {"epoch": EPOCH - 1, "ports": 3, "base": slots, "count": slots}
    shape = TenancyHead.as_shape()
    return [
        number_of(shape, same | head).to_bytes(shape.size // 8, "little")
        for head in (
            {"kind": TenancyKind.REGISTER.value, **entry},
            {"kind": TenancyKind.ACQUIRE.value, "epoch": EPOCH},
        )
    ]
