"""Judges a packet in every cycle, right or nearly, of tenants that have parents, while commands
come.
"""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from hdl.switch.frame_filter import Quality
from hdl.switch.job_table import JobTable
from hdl.switch.tenancy import SHARING, TENANT_ANSWER
from sim.golden.tenancy import Command, Sizes, State, Unit, Verb, at_start, drained, tenancy_rule
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.tenant_commands import TAKEN, legal, packed, shown

PARAMS = TreeSwitchParams(ports=5, jobs=3, slots=1 << 16, lanes=2, value_bits=7)
REFUSED = ("WRONG_WAY", "NOT_GRANTED", "WRONG_JOB", "WRONG_WORKER", "WRONG_RUN", "WRONG_SLOT")


def test_tenant_table():
    simulate(JobTable(PARAMS), __name__)


def some_packet(params, table):
    """Draw a packet and its sender: mostly of a job, near an end of its slots, by its port."""
    packet = unpack(params.packet, random.getrandbits(params.packet.size))
    header, sender = packet["header"], 1 << random.randrange(params.ports)
    if random.random() < 0.9:
        packet["quality"] = Quality.GOOD
    packet["known"] = int(header["job"] < params.jobs and random.random() < 0.9)
    if random.random() < 0.8:
        number = random.randrange(params.jobs)
        entry = table[number]
        packet["known"] = packet["own"] = packet["to_switch"] = 1
        if random.random() < 0.8:
            packet["up"] = packet["down"] = 1
        near = random.choice((entry["base"], entry["base"], entry["end"])) + random.randrange(-3, 4)
        header |= {"job": number, "epoch": entry["epoch"] & 0xFFFF, "seq": near % (1 << 16)}
        if random.random() < 0.2:
            header[random.choice(("epoch", "seq"))] ^= 1 << random.randrange(16)
        if random.random() < 0.3 and entry["parent"]:
            sender = entry["parent"]
    return packet, sender


def judge(table, packet, sender):
    """Return the first of the things, in the table's order, that is wrong; NONE if nothing is."""
    header = packet["header"]
    if packet["quality"] != Quality.GOOD:
        return packet["quality"].name
    job = table[header["job"]] if packet["known"] else {"registered": 0}
    if not job["registered"] or not (job["ports"] | job["parent"]) & sender:
        return "WRONG_JOB"
    above = bool(job["parent"] & sender)
    if not packet["down" if above else "up"]:
        return "WRONG_WAY"
    if not packet["to_switch" if above else "own"]:
        return "WRONG_WORKER"
    if not job["active"]:
        return "NOT_GRANTED"
    if header["epoch"] != job["epoch"] & 0xFFFF:
        return "WRONG_RUN"
    return "NONE" if job["base"] <= header["seq"] < job["end"] else "WRONG_SLOT"


def request(params, table, packet, sender):
    """Return the good packet as it goes on."""
    job = table[packet["header"]["job"]]
    parent = {"parent": job["parent"], "root": int(not job["parent"])}
    return {
        "sender": sender,
        "everyone": job["ports"],
        "draining": job["draining"],
        **parent,
        "from_parent": int(bool(job["parent"] & sender)),
        "header": packet["header"],
        **{name: packet[name] for name in params.brought},
    }


class Tenants:
    """Gives commands one after the other to golden tenants, whose uses begin and end meanwhile."""

    def __init__(self, dut, params):
        self.dut, self.params = dut, params
        self.sizes = Sizes(
            ports=params.ports, slots=params.slots, jobs=params.jobs, unit=Unit.SWITCH, most=1
        )
        self.tenants = at_start(self.sizes)
        self.uses = [0] * params.jobs
        self.requested = self.next = None  # a command under way, and one that waits
        self.idle = self.decided = self.refused = 0
        self.cleared, self.to_clear = [], []  # slots, with the ports of their job
        self.seen = set()

    def drive(self):
        """Give a command now and then; before it, begin or end a use of a job in the switch."""
        progress = {"job": 0, "began": 0, "ended": 0}
        quiet = self.requested is None and self.next is None
        if quiet and random.random() < 0.1:
            job = random.randrange(self.params.jobs)
            tenant = self.tenants[job]
            if tenant and tenant.holds:
                began = int(not self.uses[job] and tenant.state is State.GRANTED)
                progress = {"job": job, "began": began, "ended": self.uses[job]}
                self.uses[job] = began
            self.idle = 0
        self.idle += 1
        may = self.idle > 10 if quiet else self.next is None
        if may and random.random() < (0.2 if quiet else 0.02):
            self.next = self.some_command()
            self.dut.commands_payload.value = packed(self.next)
        self.dut.commands_valid.value = int(self.next is not None)
        self.dut.progress.value = pack(self.params.progress, progress)

    def some_command(self):
        """Draw a command that mostly works."""
        if random.random() < 0.1:
            wrong = ({"count": 0}, {"count": 1 << 31}, {"ports": 1 << 31}, {"job": 1 << 15})
            return legal(**random.choice(wrong), epoch=random.choice((0, 1 << 31)))
        job = random.randrange(self.params.jobs)
        tenant = self.tenants[job]
        verbs = [Verb.ACQUIRE] * 3 + [Verb.RELEASE if tenant else Verb.REGISTER, Verb.REGISTER]
        if job == 0 and self.decided < 40:  # it is registered when others have packets
            verbs = [Verb.ACQUIRE]
        known = max(tenant.closed, tenant.epoch) if tenant else 0
        parent = random.choice((None, random.randrange(self.params.ports)))
        ports = random.getrandbits(self.params.ports)
        return Command(
            verb=random.choice(verbs),
            switch=0,
            job=job,
            epoch=known + random.choice((0, 1, 1, 1 << random.randrange(20))),
            force=random.random() < 0.4,
            ports=ports if parent is None else ports & ~(1 << parent),
            parent=parent,
            base=random.choice((0, 0x7FF8, self.params.slots - 32)) + random.randrange(9),
            count=random.randrange(1, 9),
        )

    def share(self):
        """From now on ports are granted, not the switch."""
        self.dut.sharing.value = pack(SHARING, {"most": 1, "apart": 1})
        self.sizes = replace(self.sizes, unit=Unit.PORT)

    def check(self, table):
        """Check that the table and the answer are the golden ones."""
        dut = self.dut
        for job, entry in enumerate(table):
            tenant = self.tenants[job]
            over = tenant and tenant.state is State.DRAINING and not entry["active"]
            if over and not self.uses[job]:
                self.tenants = drained(self.tenants, job)
        unfinished = sum(uses << k for k, uses in enumerate(self.uses) if table[k]["active"])
        assert (
            self.requested or self.next or self.idle < 3 or int(dut.unfinished.value) == unfinished
        )
        if not self.requested:
            assert not dut.answered.value
            assert table == [shown(self.params, tenant) for tenant in self.tenants]
            assert self.idle < 3 or self.cleared == self.to_clear
        self.refused |= int(dut.refused_jobs.value)
        if dut.answered.value:
            self.answers()
        elif self.next and dut.commands_ready.value:
            self.requested, self.next = self.next, None

    def answers(self):
        """A command has been carried out."""
        command, self.requested, self.idle = self.requested, None, 0
        finished = command.job >= self.params.jobs or not self.uses[command.job]
        self.tenants, golden, job = tenancy_rule(self.sizes, self.tenants, command, finished)
        if job is not None:
            ports = self.tenants[job].ports
            self.to_clear += [(slot, ports) for slot in self.tenants[job].slots]
        assert self.refused == (golden.reason in TAKEN) << command.job
        self.refused = 0
        self.uses = [
            uses if tenant and tenant.holds else 0
            for uses, tenant in zip(self.uses, self.tenants, strict=True)
        ]
        answer = unpack(TENANT_ANSWER, int(self.dut.answer.value))
        reported = (
            answer["kind"].name,
            answer["reason"].name,
            answer["owner"],
            answer["owner_epoch"],
        )
        assert reported == (golden.verb.name, golden.reason.name, golden.owner, golden.owner_epoch)
        self.seen.add(golden.verb)
        self.decided += 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def lets_good_packets_of_tenants_through(dut):
    params = params_in_simulator(TreeSwitchParams)
    layout = JobTable(params).signature.members["table"].shape
    tenants, seen, held, announced = Tenants(dut, params), set(), False, None
    golden = [("NONE", None, 0, 0)] * JobTable.latency  # verdict, request, of, longer
    slots = [0] * JobTable.latency
    for name in ("packet_valid", "commands_valid", "progress", "waiting"):
        getattr(dut, name).value = 0
    dut.sharing.value = pack(SHARING, {"most": 1, "apart": 0})
    table = [unpack(params.job, 0)] * params.jobs
    await start(dut)
    for k in range(16000):
        if k > 8000 and tenants.requested is None and tenants.sizes.unit is Unit.SWITCH:
            tenants.share()
        tenants.drive()
        packet, sender = some_packet(params, table)
        valid = not held and random.random() < 0.9
        dut.waiting.value = random.getrandbits(1)
        dut.packet_valid.value, dut.sender.value = int(valid), sender
        dut.packet.value = pack(params.packet, packet)
        await RisingEdge(dut.clk)
        table = unpack(layout, int(dut.table.value))
        tenants.check(table)
        assert int(dut.active.value) == sum(e["active"] << j for j, e in enumerate(table))
        held = bool(dut.hold.value)
        verdict = judge(table, packet, sender) if valid else "NONE"
        good = valid and verdict == "NONE"
        named = valid and packet["quality"] == Quality.GOOD and packet["known"]
        of = 1 << packet["header"]["job"] if named else 0
        leaves = request(params, table, packet, sender) if good else None
        golden.append((verdict, leaves, of, packet["longer"]))
        slots.append(int(dut.slot.value))
        seen.add((verdict, bool(leaves and leaves["draining"])))
        verdict, leaves, of, longer = golden[k]
        assert (k, params.verdict(int(dut.refused.value)).name) == (k, verdict)
        assert bool(dut.valid.value) == (leaves is not None), k
        assert (k, int(dut.of.value)) == (k, of)
        assert not of or int(dut.longer.value) == longer, k
        result = unpack(params.request, int(dut.request.value))
        if leaves is not None:
            assert result == leaves, k
            assert (leaves["header"], leaves["header"]["seq"]) == (announced, slots[k]), k
        if dut.clear.value:
            tenants.cleared.append((slots[k], result["everyone"]))
        announced = unpack(params.header, int(dut.ahead.value))
    assert {verdict for verdict, _ in seen} >= {"NONE", *REFUSED, "MALFORMED", "FOREIGN", "CORRUPT"}
    assert ("NONE", True) in seen
    assert len(tenants.seen) == 5  # all kinds of answers
    assert len(tenants.cleared) > 40
