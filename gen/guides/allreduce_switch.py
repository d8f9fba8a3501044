"""Finds what the programming guide of a switch of AllReduces of many numbers says of its build."""

from collections.abc import Iterator
from typing import Any

from gen.guides.guide import facts, filled, lines, little_rows, number_of, reported, tables
from gen.guides.p4sgd_frames import head_uses
from hdl.allreduce.frame import (
    ETHERTYPE,
    HEADER_BYTES,
    NUMBER_BYTES,
    VERSION,
    WideFrame,
)
from hdl.allreduce.registers import constants, switch_registers
from hdl.allreduce.switch import AllReduceSwitch
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.allreduce.wide_params import Operation, WideVerdict
from hdl.common.packets import BEAT_BYTES, LEAST_BYTES
from hdl.switch.params import WHY_REFUSED
from hdl.switch.slots import USES

#: of the known answer: Ethernet addresses as bytes, and what two workers of job 1 send
SWITCH, GROUP, WORKERS = b"\x02\0\0\0\0\x10", b"\x03\0\0\0\0\x01", b"\x02\0\0\0\0\0"
EPOCH, SLOTS = 9, 4
NUMBERS = ((1, -2, 0x7FFF_FFFF), (10, 20, 1))
SUM = (11, 18, 0x7FFF_FFFF)  #: the last number was clamped
#: what each field of a frame holds
FRAME_USES = {
    **head_uses(ETHERTYPE, VERSION),
    "epoch": "number of the job's run",
    "count": "how many numbers follow",
    "operation": "the table of operations",
}
#: verdicts that need no slot, in the order in which they are looked for
JUDGED = ["CORRUPT", "FOREIGN", "MALFORMED", "WRONG_JOB", "WRONG_WORKER", "WRONG_RUN", "WRONG_SLOT"]
#: registers of each table
TABLES = {
    "address_rows": "switch_address group_address",
    "job_rows": "job job_ports job_base job_slots",
    "state_rows": "identity version sizes capacity commands state active_jobs",
    "counters_rows": "counter_select verdicts overflows answers_sent answers_dropped packets cycles"
    " saturations",
}


def guide(params: AllReduceSwitchParams) -> str:
    """Return the programming guide of a switch, in Markdown."""
    return filled("allreduce_switch.md.j2", values(params))


def values(params: AllReduceSwitchParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    registers = switch_registers(params)
    return {
        "params": params,
        "package": f"{registers.name}_host",
        "P": params.ports,
        "J": params.jobs,
        "S": params.slots,
        "B": params.banks,
        "beat_bytes": BEAT_BYTES,
        "least": LEAST_BYTES,
        "header_bytes": HEADER_BYTES,
        "number_bytes": NUMBER_BYTES,
        "longest": params.frames.max_bytes,
        "most": params.most_numbers,
        "uses": USES,
        "latency": AllReduceSwitch(params).latency,
        "frame": list(little_rows(WideFrame.as_shape(), FRAME_USES)),
        "operations": [(item.value, item.name, OPERATIONS[item]) for item in Operation],
        "verdicts": [each for each in reported(WideVerdict) if each[1] != "NONE"],
        "judged": JUDGED,
        "reasons": [(item.value, item.name, why) for item, why in WHY_REFUSED.items()],
        **facts(registers, constants(params)),
        **tables(registers, TABLES, {"ports": "P", "jobs": "J", "slots": "S", "banks": "B"}),
        "known": {
            "switch": SWITCH.hex(" "),
            "group": GROUP.hex(" "),
            "job": JOB,
            "epoch": EPOCH,
            "slots": SLOTS,
            "steps": list(known_steps()),
        },
    }


OPERATIONS = {
    Operation.SUM: "the exact sum, clamped once, on the way out, to 32 bits in two's complement",
    Operation.MAX: "the largest, in two's complement",
    Operation.OR: "or of each bit",
}
JOB = 1


def known_steps() -> Iterator[dict[str, Any]]:
    """Yield what comes to the switch, by whom, and its answer: two workers' numbers, then ACKs."""
    up = [
        {"destination": SWITCH, "source": WORKERS[:5] + bytes([port]), "bm": 1 << port}
        for port in range(2)
    ]
    down = {"destination": GROUP, "source": SWITCH, "bm": 3}
    sums = frame(SUM, saturated=1, **down, is_agg=1)
    pending = frame((), **(down | {"bm": 1}), is_agg=1, acked=1)
    for port, what, sent, answer, octets in (
        (0, "numbers", frame(NUMBERS[0], **up[0], is_agg=1), "nothing", b""),
        (0, "the same again", frame(NUMBERS[0], **up[0], is_agg=1), "pending, to port 0", pending),
        (1, "numbers", frame(NUMBERS[1], **up[1], is_agg=1), "the sums, to both ports", sums),
        (0, "an acknowledgement", frame((), **up[0]), "nothing", b""),
        (
            *(1, "an acknowledgement", frame((), **up[1])),
            *("acked, to both ports", frame((), **down, acked=1)),
        ),
    ):
        yield {
            "port": port,
            "who": what,
            "frame": lines(sent),
            "what": answer,
            "answer": lines(octets),
        }


def frame(numbers: tuple[int, ...], saturated: int = 0, **fields: Any) -> bytes:
    """Return a frame of job 1; addresses are bytes in the order of the wire."""
    head = {
        name: int.from_bytes(value, "little") if isinstance(value, bytes) else value
        for name, value in fields.items()
    }
    same = {"version": VERSION, "job": JOB, "epoch": EPOCH, "count": len(numbers)}
    same |= {"ethertype": int.from_bytes(ETHERTYPE.to_bytes(2, "big"), "little")}
    octets = number_of(WideFrame.as_shape(), same | head).to_bytes(HEADER_BYTES, "little")
    words = (*(number & 0xFFFF_FFFF for number in numbers), saturated)
    octets += b"".join(word.to_bytes(NUMBER_BYTES, "little") for word in words)
    return octets.ljust(LEAST_BYTES, b"\0")
