"""Tests the job table of a switch whose packets name no slot: a rule prepares a job that starts."""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switch.frame_filter import Quality
from hdl.switch.job_table import JobTable
from hdl.switch.params import COMMAND, Refusal
from hdl.switchgnn.switch.judge.verdict import Verdict
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.job_model import JobModel, some_command
from tests.hdl.switchgnn.switch.sizes import TINY


def test_job_table():
    simulate(JobTable(replace(TINY, slots=64)), __name__)


class Model(JobModel):
    """Follows the ports: a start waits for its rule."""

    preparing = False

    def proceed(self, seen, prepared):
        """Play a cycle of a start: it is refused or prepared, in time, and active afterwards."""
        start = self.start
        start.age += 1
        if start.refusal:
            assert not seen["preparing"]
            assert start.age <= self.deadline
            if not seen["busy"]:
                self.reason = self.reason if self.interrupted else start.refusal
                self.start = None
            return
        if self.preparing and self.done:
            self.table[start.command["job"]] = start.entry | {"active": 1}
            self.start, self.preparing = None, False
            assert not seen["preparing"]
            return
        if seen["preparing"]:
            self.preparing = True
            self.table[start.command["job"]] = start.entry
            self.done = prepared
        else:
            assert not self.preparing
            assert start.age <= self.deadline

    def check(self, seen, command, prepared):
        if not self.start:
            assert not seen["preparing"]
        super().check(seen | {"hold": False, "cleared": None}, command, prepared)


def some_packet(model):
    """Draw a packet and who sent it, mostly right."""
    params = model.params
    number = random.randrange(params.jobs)
    kind = params.header["kind"].shape
    header = {name: random.getrandbits(16) & 1 for name, _ in params.header}
    header |= {"kind": random.choice([*kind]), "job": number}
    wrong = (random.random() < 0.1) << random.randrange(16)
    header["epoch"] = model.table[number]["epoch"] ^ wrong
    quality = Quality.GOOD if random.random() < 0.9 else random.choice([*Quality])
    own, known = (int(random.random() < 0.9) for _ in range(2))
    packet = {"quality": quality, "own": own, "known": known, "header": header}
    return packet, 1 << random.randrange(params.ports)


def judge(table, packet, sender):
    """Return what is wrong with it, in the order of :class:`Verdict`."""
    job = table[packet["header"]["job"]]
    if packet["quality"] is not Quality.GOOD:
        return packet["quality"].name
    if not (packet["known"] and job["active"] and job["ports"] & sender):
        return "WRONG_JOB"
    if not packet["own"]:
        return "WRONG_WORKER"
    return "WRONG_RUN" if packet["header"]["epoch"] != job["epoch"] else "NONE"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def lets_good_packets_through(dut):
    params = params_in_simulator(GnnSwitchParams)
    shape = JobTable(params).signature.members["table"].shape
    model, seen = Model(params), set()
    golden = [("NONE", None)] * JobTable.latency
    dut.command.value = dut.prepared.value = dut.packet_valid.value = 0
    await start(dut)
    for k in range(6000):
        command, prepared = some_command(model), int(random.random() < 0.3)
        packet, sender = some_packet(model)
        valid = random.random() < 0.9
        dut.command.value, dut.prepared.value = pack(COMMAND, command), prepared
        dut.packet_valid.value, dut.sender.value = int(valid), sender
        dut.packet.value = pack(params.packet, packet)
        await RisingEdge(dut.clk)
        shown = {
            "busy": bool(dut.busy.value),
            "reason": Refusal(int(dut.reason.value)).name,
            "table": unpack(shape, int(dut.table.value)),
            "preparing": bool(dut.preparing.value),
        }
        active = sum(entry["active"] << n for n, entry in enumerate(shown["table"]))
        assert int(dut.active.value) == active
        verdict = judge(shown["table"], packet, sender) if valid else "NONE"
        everyone = shown["table"][packet["header"]["job"]]["ports"]
        request = {"sender": sender, "everyone": everyone, "header": packet["header"]}
        golden.append((verdict, request if valid and verdict == "NONE" else None))
        verdict, request = golden[k]
        seen |= {verdict, shown["reason"], request is not None}
        assert Verdict(int(dut.refused.value)).name == verdict
        assert bool(dut.valid.value) == (request is not None)
        if request is not None:
            assert unpack(params.request, int(dut.request.value)) == request
        model.check(shown, command, prepared)
    names = {v.name for v in Verdict if v.value >= Verdict.WRONG_RUN.value}
    assert seen == {refusal.name for refusal in Refusal} | names | {True, False}
