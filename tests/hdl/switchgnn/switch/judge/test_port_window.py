"""Compares the windows of two open turns with the golden one, with frames in any order."""

import random
from dataclasses import replace

import cocotb

from hdl.switchgnn.switch.judge.port_window import PortWindow
from hdl.switchgnn.switch.sizes import OPEN_TURNS
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import crossed, started
from sim.switchgnn.golden.window import Window
from tests.hdl.switchgnn.switch.sizes import TINY
from tests.simulated import simulated

SIZES = [replace(TINY, window=window) for window in (2, 4, 32, 128)]
LAG = 3  # cycles from an admitted frame to ``required``

test_port_window = simulated(PortWindow, SIZES, __name__, ids=lambda params: f"{params.window}")


class TurnModel:
    """Keeps what has come of an open turn, and since when it waits for an ACK."""

    def __init__(self):
        self.window = Window()
        self.unanswered = []  # cycles in which new frames were admitted
        self.repeated = []  # and old ones
        self.required_since = None  # first cycle in which there was a reason for an ACK

    def answered(self, now):
        """Note that an ACK left: it tells of all that was marked before."""
        self.unanswered = [at for at in self.unanswered if at == now]
        self.repeated = [at for at in self.repeated if at == now]
        self.required_since = None

    def reason(self, now, every, delay):
        """Return whether an ACK is to leave, for what came before this cycle."""
        before = [at for at in self.unanswered if at < now]
        old = bool(before) and now - before[0] > delay
        return len(before) >= every or old or any(at < now for at in self.repeated)


class PortWindowBench(Bench):
    """Gives a seq per cycle, and in the next cycle whether it is admitted."""

    def __init__(self, dut, *, every, delay, acks):
        super().__init__(dut, settings={"every": every, "delay": delay})
        self.every, self.delay, self.acks = every, delay, acks
        self.now = 0
        self.models = [TurnModel() for _ in range(OPEN_TURNS)]
        self.looked = None  # turn and seq of the cycle before
        self.golden = None  # what must be said of the frame admitted in the cycle before
        self.seen = set()
        for k in range(OPEN_TURNS):
            getattr(dut, f"turns_{k}").value = 40 + k

    async def step(self, turn=0, seq=0, *, admit=True, clear=0):
        """Give a seq; the one before is admitted or not."""
        dut, now = self.dut, self.now
        admit = admit and self.looked is not None
        acked = sum((random.random() < self.acks) << k for k in range(OPEN_TURNS))
        dut.turn.value, dut.seq.value = turn, seq
        dut.admit.value, dut.clear.value = int(admit), clear
        dut.acked.value = acked
        await self.edge
        if self.golden is not None:
            repeated, ahead = self.golden
            assert (bool(dut.repeated.value), bool(dut.ahead.value)) == (repeated, ahead)
        shown = [self.check_ack(k) for k in range(OPEN_TURNS)]
        self.golden = False, False
        if admit:
            self.golden = self.take(*self.looked, shown, clear)
        for k, model in enumerate(self.models):
            if acked >> k & 1:
                model.answered(now)
            if clear >> k & 1:
                self.models[k] = TurnModel()
        self.looked, self.now = (turn, seq), now + 1

    def take(self, turn, seq, shown, clear):
        """Admit a frame; return whether it is old, or too far ahead."""
        model, window = self.models[turn], self.params.window
        if model.window.has(seq):
            self.seen.add("repeated")
            model.repeated.append(self.now)
            return True, False
        if seq >= shown[turn] + window:  # what an ACK says decides, and it may lag behind
            self.seen.add("ahead" if seq >= model.window.base + window else "late")
            return False, True
        self.seen.add("new")
        model.window = model.window.marked(seq)
        model.unanswered.append(self.now)
        return False, False

    def check_ack(self, k):
        """Check that an ACK tells exactly what has come; return its base."""
        state = unpack(self.params.ack_state, int(getattr(self.dut, f"acks_{k}").value))
        model = self.models[k]
        reported = Window().acknowledged(state["base"], state["arrived"])
        assert reported == model.window
        assert state["turn"] == 40 + k
        reason = model.reason(self.now, self.every, self.delay)
        if not reason:
            model.required_since = None
        elif model.required_since is None:
            model.required_since = self.now
        if state["required"]:
            self.seen.add("required")
            assert reason
        elif reason:
            assert self.now - model.required_since < LAG
        return state["base"]

    def some_seq(self, turn):
        window, base = self.params.window, self.models[turn].window.base
        near = base + random.randrange(-3, window + 3)
        late = random.choice((base, base + window - 1, base + window, (1 << 32) - 1))
        return max(0, random.choice((near, near, base, late)))


@crossed(every=[1, 5, 255], delay=[0, 3, 40, 65535], acks=[0.05, 0.5])
async def any_order(dut, every, delay, acks):
    bench = await started(PortWindowBench(dut, every=every, delay=delay, acks=acks))
    clear = 0
    for _ in range(500):
        turn = random.getrandbits(1)
        # A window is cleared while nothing of its turn is looked up.
        clear = random.choice((0, 0, 1, 2, 3)) if random.random() < 0.01 else 0
        admit = random.random() < 0.8
        if bench.looked and clear >> bench.looked[0] & 1:
            admit = False
        await bench.step(turn, bench.some_seq(turn), admit=admit, clear=clear)
        if clear:
            await bench.step(admit=False)
    assert {"new", "repeated", "ahead"} <= bench.seen
    assert "required" in bench.seen or (every, delay) == (255, 65535)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def at_full_rate(dut):
    """A frame per cycle, both turns in order or backwards through a window, are all new."""
    bench = await started(PortWindowBench(dut, every=1, delay=0, acks=0.3))
    window = bench.params.window
    for backwards in (False, True):
        await bench.step(admit=False, clear=3)
        bench.seen.clear()
        for begin in range(0, 4 * window, window):
            for turn in range(OPEN_TURNS):
                seqs = range(begin, begin + window)
                for seq in reversed(seqs) if backwards else seqs:
                    await bench.step(turn, seq, admit=seq != seqs[-1 if backwards else 0])
                    if seq == (seqs[-1] if backwards else begin):
                        continue
                await bench.step(turn, begin)
                await bench.step(admit=False)
            for _ in range(window):
                await bench.step(admit=False)
        for _ in range(window):
            await bench.step(admit=False)
        for k in range(OPEN_TURNS):
            base = unpack(bench.params.ack_state, int(getattr(dut, f"acks_{k}").value))["base"]
            assert base == bench.models[k].window.base
        assert "late" not in bench.seen
