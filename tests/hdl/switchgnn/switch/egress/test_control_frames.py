"""Checks what a port is to tell its worker, cycle by cycle, at any pace of the port."""

import random
from collections import deque
from itertools import pairwise

import cocotb

from hdl.switchgnn.protocol import Kind
from hdl.switchgnn.switch.egress.control_frames import RAW_REQUESTS, ControlFrames
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import OPEN_TURNS
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, crossed, never, start
from tests.hdl.switchgnn.extremes import some_number
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, lanes=2, window=4, jobs=2),
    GnnSwitchParams(ports=32, lanes=128, window=128),
]
REQUESTERS = ["ack 0", "ack 1", "advance", "raw"]

test_control_frames = simulated(
    ControlFrames, SIZES, __name__, ids=lambda params: f"w{params.window}"
)


def some(layout):
    return unpack(layout, random.getrandbits(layout.size))


class ControlFramesBench(Bench):
    """Asks for frames, and compares each with what was to be told one cycle before the offer."""

    def __init__(self, dut, *, link=never):
        super().__init__(dut)
        self.link = link
        self.cycle = 0
        self.acks = [some(self.params.ack_state) | {"required": 0} for _ in range(OPEN_TURNS)]
        self.job = {"active": 1, "job": 1, "epoch": some_number(16), "lo": 0}
        self.advancing, self.requests = False, deque()
        self.before = ({}, 0, False, None)  # what was to be told, acked, and inputs
        self.waiting = None  # the frame that is offered
        self.passed = dict.fromkeys(REQUESTERS, 0)  # frames that passed who waits
        self.reported, self.cycles, self.dropped = [], [], 0  # who was; when it was offered
        dut.advance.value, dut.raw_valid.value, dut.o_ready.value = 0, 0, 0
        self.drive()

    async def start(self):
        await start(self.dut)
        return self

    def drive(self):
        self.dut.job.value = pack(self.params.port_job, self.job)
        for k, ack in enumerate(self.acks):
            getattr(self.dut, f"acks_{k}").value = pack(self.params.ack_state, ack)

    def to_report(self, congested):
        """Return who asks, and the frame that there would be for each."""
        if not self.job["active"]:
            return {}
        result = {}
        for k, ack in enumerate(self.acks):
            if ack["required"]:
                reported = {"turn": ack["turn"], "seq": ack["base"], "bitmap": ack["arrived"]}
                result[REQUESTERS[k]] = reported | {"kind": Kind.ACK, "ecn": congested}
        if self.advancing:
            result["advance"] = {"kind": Kind.ADVANCE, "turn": self.job["lo"]}
        if self.requests:
            request = self.requests[0]
            reported = {"turn": request["turn"], "source": request["source"]}
            result["raw"] = reported | {"kind": Kind.RAWFETCH, "raw": request["requesting"]}
        nothing = {name: 0 for name, _ in self.params.control_frame}
        run = {"job": self.job["job"], "epoch": self.job["epoch"]}
        return {owner: nothing | run | frame for owner, frame in result.items()}

    async def step(self, *, advance=False, request=None, congested=0):
        """Play a cycle; return who was told in the one before, if anybody."""
        dut = self.dut
        self.drive()
        dut.congested.value, dut.advance.value = congested, int(advance)
        dut.raw_valid.value = int(request is not None)
        dut.raw_request.value = pack(self.params.raw_request, request or 0)
        ready = not self.link()
        dut.o_ready.value = int(ready)
        await self.edge
        reported = self.look_at_output(ready)
        self.update(reported)
        lost = request is not None and self.job["active"] and len(self.requests) == RAW_REQUESTS
        assert bool(dut.dropped.value) == bool(lost)
        self.dropped += bool(lost)
        request = None if lost else request
        to_report = self.to_report(congested)
        self.passed |= {owner: 0 for owner in REQUESTERS if owner not in to_report}
        self.before = to_report, int(dut.acked.value), advance, request
        self.cycle += 1
        return reported

    def look_at_output(self, ready):
        """Return who was told one cycle ago: a frame is offered, and stays until it is taken."""
        to_report, acked, _, _ = self.before
        reported = None
        if not self.dut.o_valid.value:
            assert self.waiting is None
            assert not acked
            return None
        frame = unpack(self.params.control_frame, int(self.dut.o_payload.value))
        if self.waiting is None:
            reported = self.owner(frame, to_report, acked)
            self.reported.append(reported)
            self.cycles.append(self.cycle)
            self.passed = {owner: count + 1 for owner, count in self.passed.items()} | {reported: 0}
            assert max(self.passed.values()) < len(REQUESTERS)
        else:
            assert frame == self.waiting
            assert not acked
        self.waiting = None if ready else frame
        return reported

    def owner(self, frame, to_report, acked):
        if acked:
            requester = REQUESTERS[acked.bit_length() - 1]
        else:
            requester = {Kind.ADVANCE: "advance", Kind.RAWFETCH: "raw"}[frame["kind"]]
        assert acked in (0, 1, 2)
        assert frame == to_report[requester]
        return requester

    def update(self, reported):
        """Take over what the cycle before has left."""
        _, _, advance, request = self.before
        if self.was_active:
            self.advancing = advance or (self.advancing and reported != "advance")
            if reported == "raw":
                self.requests.popleft()
            if request is not None:
                self.requests.append(request)
        else:
            self.advancing = False
            if self.requests:
                self.requests.popleft()
        self.was_active = self.job["active"]

    was_active = 0


@crossed(stalls=STALLS)
async def reports_what_is_to_be_reported(dut, stalls):
    """Jobs come and go, windows move, and turns end while an ACK waits."""
    source, link = stalls
    bench = await ControlFramesBench(dut, link=link).start()
    params = bench.params
    idle = 0
    for k in range(4000):
        if k % 100 == 0:
            busy = random.choice((0.02, 0.3, 1))
        if bench.job["active"] and random.random() < 0.005:
            bench.job["active"], idle = 0, random.randint(RAW_REQUESTS + 1, 40)
        elif not bench.job["active"]:
            idle -= 1
            if not idle:
                run = {"job": random.randrange(params.jobs), "epoch": some_number(16)}
                bench.job = some(params.port_job) | run | {"active": 1}
        for ack in bench.acks:
            if random.random() < busy / 2:
                ack |= some(params.ack_state)
        if random.random() < 0.1:
            bench.job["lo"] += bench.job["lo"] < (1 << 32) - 1
        demands = random.random() < busy / 2 and not source()
        await bench.step(
            advance=random.random() < busy / 10,
            request=some(params.raw_request) if demands else None,
            congested=random.getrandbits(1),
        )
    assert min(map(bench.reported.count, REQUESTERS)) > 30
    assert bench.dropped or source is not never
    bench.job["active"] = 0
    for _ in range(RAW_REQUESTS + 4):
        await bench.step()
    assert not dut.o_valid.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_frame_every_two_cycles(dut):
    bench = await ControlFramesBench(dut).start()
    for ack in bench.acks:
        ack["required"] = 1
    for _ in range(200):
        await bench.step(advance=True, request=some(bench.params.raw_request))
    apart = {later - at for at, later in pairwise(bench.cycles)}
    assert apart == {2}
    assert {bench.reported.count(owner) for owner in REQUESTERS} <= {
        len(bench.reported) // 4,
        len(bench.reported) // 4 + 1,
    }


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_alone_leaves_at_once(dut):
    bench = await ControlFramesBench(dut).start()
    latency = ControlFrames.latency
    for k in range(40):
        for _ in range(random.randint(4, 8)):
            await bench.step()
        requested, owner = bench.cycle, random.choice(REQUESTERS)
        bench.reported.clear()
        if owner.startswith("ack"):
            ack = bench.acks[REQUESTERS.index(owner)]
            ack["required"] = 1
            await bench.step()
            await bench.step()
            ack["required"] = 0
        else:
            latency = ControlFrames.latency + 1  # its register, its queue
            request = some(bench.params.raw_request) if owner == "raw" else None
            await bench.step(advance=owner == "advance", request=request)
        for _ in range(4):
            await bench.step()
        assert bench.reported == [owner], k
        assert bench.cycles[-1] == requested + latency
        latency = ControlFrames.latency
