"""Frames of answers equal the golden model's in every cycle, from frame to frame without a gap."""

import random

import cocotb
import numpy as np

from hdl.allreduce.answer_framer import AnswerFramer
from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.golden.reduction.frames import ACKED, IS_AGG
from sim.golden.reduction.wide_frames import HEADER, WideFrame
from sim.harness.bench import Bench
from sim.harness.streams import start
from sim.host.switch.traffic import choose_payload
from tests.simulated import simulated

SIZES = [AllReduceSwitchParams(ports=5, banks=4, slots=16, jobs=3)]
SIZES += [AllReduceSwitchParams(ports=2, banks=2, slots=512, most_numbers=512)]
LANES, FIRST = 16, HEADER.itemsize // 4

test_answer_framer = simulated(AnswerFramer, SIZES, __name__)


class Answers:
    """Draws answers of a bank, with their frames by the golden model."""

    def __init__(self, params):
        self.params, self.number = params, random.randrange(params.banks)
        self.source, self.destination = random.randbytes(6), random.randbytes(6)

    def drawn(self):
        """Return an answer, and its beats: numbers that come, and the frame's bytes."""
        params = self.params
        acked = random.random() < 0.4
        most = params.most_numbers
        counts = 1, 2, *range(6, 11), *range(23, 27), *range(most - 8, most + 1)
        count = 0 if acked else random.choice((*counts, random.randint(1, most)))
        answer = {
            "bm": random.randrange(1, 1 << params.ports),
            "acked": acked,
            "is_agg": random.getrandbits(1) if acked else 1,
            "slot": random.randrange(params.slots // params.banks),
            "use": random.getrandbits(8),
            "operation": random.randrange(3),
            "count": count,
            "tag": random.getrandbits(params.tag.size),
        }
        tag = params.tag.const(None).shape().from_bits(answer["tag"])
        frame = WideFrame(
            destination=self.destination,
            source=self.source,
            flags=IS_AGG * answer["is_agg"] | ACKED * acked,
            **{name: answer[name] for name in ("bm", "use", "operation")},
            seq=answer["slot"] * params.banks + self.number,
            job=tag.job,
            epoch=tag.epoch,
            saturated=random.randint(0, count),
            numbers=np.array(choose_payload(random, count), dtype=np.int64),
        )
        return answer, list(self.beats(frame))

    def beats(self, frame):
        """Yield the numbers of each beat, and its bytes; wild are those that are replaced."""
        wire, words = frame.to_bytes(), [int(number) for number in frame.numbers]
        words = [random.getrandbits(31) for _ in range(FIRST)] + words + [-1] + [0] * LANES
        for at in range(0, len(wire), 4 * LANES):
            last = at + 4 * LANES >= len(wire)
            saturated = frame.saturated if last else random.randint(0, self.params.most_numbers)
            came = {"saturated": saturated, "last": last, "numbers": words[at // 4 :][:LANES]}
            yield came, wire[at : at + 4 * LANES]


def drawn_run(answers, cycles):
    """Yield what comes in each cycle, what is expected, and the bytes and end of a beat."""
    sending, sent, waits, rate = [], None, None, 1.0
    others = [answers.drawn() for _ in range(9)]  # what is there while nothing is valid
    for n in range(cycles):
        rate = random.choice((1.0, 0.3, 0.02)) if n % 200 == 0 else rate
        if waits is None and random.random() < rate:
            waits = answers.drawn()
        idle, other = random.choice(others)
        free, held = len(sending) <= 1, sent["bm"] if len(sending) > 1 else 0
        take = waits is not None and free and random.random() < max(rate, 0.3)
        numbers, wire = sending[0] if sending else (other[0][0], b"")
        yield (
            {
                "rst": 0,
                "answers_valid": waits is not None,
                "answers_payload": waits[0] if waits else idle,
                "numbers_valid": bool(sending) or random.random() < 0.5,
                "numbers_payload": numbers,
                "take": take,
            },
            {
                "waiting": waits[0]["bm"] if waits else 0,
                "free": free,
                "held": held,
                "heading": waits[0]["bm"] if take else held,
                "answers_ready": take,
                "numbers_ready": bool(sending),
            },
            (wire, len(sending) == 1),
        )
        sending = sending[1:]
        if take:
            (sent, sending), waits = waits, None


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_the_golden_frames_in_every_cycle(dut):
    bench = Bench(dut)
    answers = Answers(bench.params)
    bench.set(number=answers.number)
    bench.set(source=int.from_bytes(answers.source, "little"))
    bench.set(destination=int.from_bytes(answers.destination, "little"))
    await start(dut)
    came, expected, frames = [], [], []
    for cycles in (50, 2000):  # a reset comes in the midst of a frame
        drawn = [list(part) for part in zip(*drawn_run(answers, cycles), strict=True)]
        came += [drawn[0][-1] | {"rst": 1, "take": 0}, *drawn[0]]
        expected += drawn[1]
        frames += drawn[2]
    shown = await bench.played(came, "sending", *expected[0])
    for beat, item, (wire, last) in zip(shown, expected, frames, strict=True):
        sending = beat.pop("sending")
        assert beat == item
        if wire:
            assert sending["last"] == last
            assert sending["data"].to_bytes(64, "little")[: len(wire)] == wire
        if last:
            assert sending["words"] == len(wire) // 4 - 1
