"""Judges a packet in every cycle, right or nearly, while jobs come and go at random."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.switch.frame_filter import Quality
from hdl.switch.job_table import JobTable
from hdl.switch.params import COMMAND, Refusal
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.job_model import JobModel, some_command

PARAMS = SwitchParams(ports=5, jobs=3, lanes=2, value_bits=7)


def test_job_table():
    simulate(JobTable(PARAMS), __name__)


def some_packet(model):
    """Draw a packet and who sent it: mostly of an active job, mostly near an end of its slots."""
    params = model.params
    packet = unpack(params.packet, random.getrandbits(params.packet.size))
    extremes = 0, -1 << params.value_bits - 1, (1 << params.value_bits - 1) - 1
    packet["payload"][0] = random.choice((*extremes, packet["payload"][0]))
    header, sender = packet["header"], 1 << random.randrange(params.ports)
    number = random.randrange(params.jobs)
    entry = model.table[number]
    if random.random() < 0.9:
        packet["quality"] = Quality.GOOD
    packet["known"] = int(header["job"] < params.jobs and random.random() < 0.9)
    if random.random() < 0.8:
        packet["own"] = packet["known"] = 1
        header |= {"job": number, "epoch": entry["epoch"]}
        near = random.choice((entry["base"], entry["base"], entry["end"])) + random.randrange(-3, 4)
        header["seq"] = near % (1 << 16)
        if random.random() < 0.2:
            header[random.choice(("epoch", "seq"))] ^= 1 << random.randrange(16)
    return packet, sender


def judge(model, active, packet, sender):
    """Return what is wrong with it now, by the order of :class:`Verdict`; NONE if nothing is."""
    header = packet["header"]
    known = packet["known"] and active >> header["job"] & 1
    job = model.table[header["job"]] if known else {"ports": 0}
    if packet["quality"] != Quality.GOOD:
        return packet["quality"].name
    if not job["ports"] & sender:
        return "WRONG_JOB"
    if not packet["own"]:
        return "WRONG_WORKER"
    if header["epoch"] != job["epoch"]:
        return "WRONG_RUN"
    return "NONE" if job["base"] <= header["seq"] < job["end"] else "WRONG_SLOT"


def request(model, packet, sender):
    """Return the good packet as it goes on."""
    header = packet["header"]
    return {
        "sender": sender,
        "everyone": model.table[header["job"]]["ports"],
        "header": header,
        "payload": packet["payload"],
    }


def shown(dut, model):
    """Return what ports tell of jobs; a started job's entry is shown once the job is active."""
    active = int(dut.active.value)
    table = [entry | {"active": active >> n & 1} for n, entry in enumerate(model.table)]
    if model.start and not model.start.refusal:
        job = model.start.command["job"]
        if not active >> job & 1:
            table[job] = model.start.entry
    return {
        "hold": bool(dut.hold.value),
        "cleared": model.cleared,  # which the slot and the request are compared with
        "table": table,
        "busy": bool(dut.busy.value),
        "reason": Refusal(int(dut.reason.value)).name,
    }


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def lets_good_packets_through(dut):
    params = params_in_simulator(SwitchParams)
    model, seen, held, announced = JobModel(params), set(), False, None
    nothing = ("NONE", None, None)  # verdict, request, ports of what is cleared
    golden = [nothing] * JobTable.latency
    dut.command.value = dut.waiting.value = dut.packet_valid.value = 0
    await start(dut)
    for k in range(16000):
        command, waiting = some_command(model), random.getrandbits(1)
        packet, sender = some_packet(model)
        valid = not held and random.random() < 0.9
        dut.command.value, dut.waiting.value = pack(COMMAND, command), waiting
        dut.packet_valid.value, dut.sender.value = int(valid), sender
        dut.packet.value = pack(params.packet, packet)
        await RisingEdge(dut.clk)
        # This cycle's slot is that of what leaves two cycles later.
        active = int(dut.active.value)
        verdict, leaves, cleared = judge(model, active, packet, sender), None, None
        slot = packet["header"]["seq"] if model.cleared is None else model.cleared[0]
        assert (k, int(dut.slot.value)) == (k, slot)
        held = bool(dut.hold.value)
        if valid:
            seen.add(verdict)
            leaves = request(model, packet, sender) if verdict == "NONE" else None
        elif model.cleared is not None:
            cleared = model.cleared[1]
        golden.append((verdict if valid else "NONE", leaves, cleared))
        verdict, leaves, cleared = golden[k]
        result = unpack(params.request, int(dut.request.value))
        assert (k, Verdict(int(dut.refused.value)).name) == (k, verdict)
        assert bool(dut.valid.value) == (leaves is not None), k
        assert bool(dut.clear.value) == (cleared is not None), k
        if leaves is not None:
            assert result == leaves, k
            assert result["header"] == announced, k
        announced = unpack(params.header, int(dut.ahead.value))
        if cleared is not None:
            assert result["everyone"] == cleared, k
        model.check(shown(dut, model), command, waiting)
    assert seen == {"NONE", *(v.name for v in Verdict if v.value >= Verdict.WRONG_SLOT.value)}
