"""Surrounds a transport under test: the golden switch, golden workers, bad links."""

import heapq
import random
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.network.frame import ETHERTYPE_ON_WIRE, FRAME_KEEP, VERSION, Frame
from sim.golden.reduction.allreduce import (
    Packet,
    Phase,
    SwitchSlot,
    WorkerSlot,
    switch_rule,
    worker_rule,
    worker_starts,
)
from sim.golden.reduction.shadow import ShadowSlot, shadow_rule, shadow_worker_rule
from sim.harness.payloads import pack, unpack

ADDRESS, SWITCH_ADDRESS, GROUP_ADDRESS = 0x0A0000000002, 0x0B0000000002, 0x0C0000000003
JOB, EPOCH, BASE = 7, 3, 1000
OWN = 1  # index of the worker under test
LANES = 8


def settings(slots, workers, **others):
    return {
        "address": ADDRESS,
        "switch_address": SWITCH_ADDRESS,
        "group_address": GROUP_ADDRESS,
        "worker": OWN,
        "workers": (1 << workers) - 1,
        "job": JOB,
        "epoch": EPOCH,
        "slot_base": BASE,
        "slot_count": slots,
        "timeout": 600,
        "retries": 0,
        "peer_retries": 0,
    } | others


def frame(packet, slot, **others):
    """Return an answer of the switch as the fields of a frame."""
    return {
        "destination": GROUP_ADDRESS,
        "source": SWITCH_ADDRESS,
        "ethertype": ETHERTYPE_ON_WIRE,
        "version": VERSION,
        "is_agg": int(packet.is_agg),
        "acked": int(packet.acked),
        "bm": packet.bm,
        "job": JOB,
        "epoch": EPOCH,
        "seq": BASE + slot,
        "use": packet.use,
        "saturated": packet.saturated,
        "payload": list(packet.payload) + [0] * (LANES - len(packet.payload)),
    } | others


class FramePort:
    """Drives s_axis and watches m_axis, a frame per beat."""

    def __init__(self, dut):
        self.dut = dut
        dut.s_axis_tvalid.value = 0

    def offer(self, fields, keep=FRAME_KEEP, last=1, user=0):
        dut = self.dut
        dut.s_axis_tvalid.value = fields is not None
        if fields is not None:
            dut.s_axis_tdata.value = fields if isinstance(fields, int) else pack(Frame, fields)
            dut.s_axis_tkeep.value = keep
            dut.s_axis_tlast.value = last
            dut.s_axis_tuser.value = user

    def taken(self):
        """Return the frame that moved out at the last edge."""
        dut = self.dut
        if not (dut.m_axis_tvalid.value and dut.m_axis_tready.value):
            return None
        assert int(dut.m_axis_tkeep.value) == FRAME_KEEP
        assert int(dut.m_axis_tlast.value) == 1
        assert int(dut.m_axis_tuser.value) == 0
        return unpack(Frame, int(dut.m_axis_tdata.value) & (1 << 480) - 1)


@dataclass
class Network:
    """Models links with a delay that lose, double and reorder what is on them."""

    delay: int = 20
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    displacement: int = 60
    now: int = 0
    count: int = 0
    under_way: list = field(default_factory=list)

    def send(self, to, what):
        if random.random() < self.drop:
            return
        copies = 1 + (random.random() < self.duplicate)
        for copy in range(copies):
            late = copy or random.random() < self.reorder
            extra = random.randrange(1, self.displacement) if late else 0
            self.count += 1
            heapq.heappush(self.under_way, (self.now + self.delay + extra, self.count, to, what))

    def due(self):
        while self.under_way and self.under_way[0][0] <= self.now:
            yield heapq.heappop(self.under_way)[2:]


class Others:
    """Plays the switch and the other workers, which ask again every ``patience`` cycles."""

    def __init__(self, dut, slots, workers, network, partials, patience=300, shadow=False):
        self.port = FramePort(dut)
        self.dut, self.network, self.partials, self.patience = dut, network, partials, patience
        self.everyone = (1 << workers) - 1
        kind = ShadowSlot if shadow else SwitchSlot
        self.rule = shadow_rule if shadow else switch_rule
        self.worker_rule = shadow_worker_rule if shadow else worker_rule
        self.switch = [kind.at_start(self.everyone, LANES) for _ in range(slots)]
        self.workers = {
            w: [WorkerSlot.at_start() for _ in range(slots)] for w in range(workers) if w != OWN
        }
        self.next = dict.fromkeys(self.workers, 0)
        self.requested = {}
        self.to_dut = []
        self.sent = []  # frames of the worker under test
        self.stall = lambda: False
        self.task = cocotb.start_soon(self.run())

    async def run(self):
        edge = RisingEdge(self.dut.clk)
        self.dut.m_axis_tready.value = 1
        while True:
            await edge
            self.network.now += 1
            if (fields := self.port.taken()) is not None:
                self.sent.append(fields)
                self.check(fields)
                packet = Packet(
                    bool(fields["is_agg"]),
                    fields["bm"],
                    fields["use"],
                    payload=tuple(fields["payload"]),
                )
                self.network.send("switch", (fields["seq"] - BASE, packet))
            for worker in self.workers:
                self.act(worker)
            for to, (slot, packet) in self.network.due():
                self.deliver(to, slot, packet)
            self.port.offer(frame(*self.to_dut.pop(0)) if self.to_dut else None)
            self.dut.m_axis_tready.value = not self.stall()

    def check(self, fields):
        """Check all that does not differ from packet to packet."""
        assert fields["destination"] == SWITCH_ADDRESS
        assert fields["source"] == ADDRESS
        assert fields["ethertype"] == ETHERTYPE_ON_WIRE
        assert fields["version"] == VERSION
        assert (fields["job"], fields["epoch"]) == (JOB, EPOCH)
        assert fields["bm"] == 1 << OWN
        assert not any(fields[name] for name in ("acked", "no_flags", "saturated"))
        assert fields["is_agg"] or not any(fields["payload"])

    def act(self, worker):
        """Start the next micro-batch, or ask again."""
        slots, j = self.workers[worker], self.next[worker]
        slot = j % len(slots)
        if j < len(self.partials[worker]) and slots[slot].phase is Phase.FREE:
            slots[slot] = worker_starts(slots[slot])
            self.next[worker] += 1
            self.issue(worker, slot)
        for slot, state in enumerate(slots):
            waited = self.network.now - self.requested.get((worker, slot), 0)
            if state.phase is not Phase.FREE and waited > self.patience:
                self.issue(worker, slot)

    def issue(self, worker, slot):
        state = self.workers[worker][slot]
        self.requested[worker, slot] = self.network.now
        is_agg = state.phase is Phase.PARTIAL
        j = (self.next[worker] - 1 - slot) // len(self.switch) * len(self.switch) + slot
        payload = tuple(self.partials[worker][j]) if is_agg else ()
        packet = Packet(is_agg, 1 << worker, state.use, payload=payload)
        self.network.send("switch", (slot, packet))

    def deliver(self, to, slot, packet):
        if to == "switch":
            outcome = self.rule(self.switch[slot], packet, self.everyone)
            self.switch[slot] = outcome.slot
            for worker in range(self.everyone.bit_length()):
                if outcome.answer is not None and outcome.answer.bm >> worker & 1:
                    self.network.send(worker, (slot, outcome.answer))
        elif to == OWN:
            self.to_dut.append((packet, slot))
        else:
            slots = self.workers[to]
            before = slots[slot].phase
            slots[slot], _ = self.worker_rule(slots[slot], packet)
            if slots[slot].phase is Phase.ACK and before is Phase.PARTIAL:
                self.issue(to, slot)
