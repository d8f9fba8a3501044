"""Users share one requester: each gets its own answers in order, and few enough are under way."""

import random
from collections import Counter
from itertools import accumulate, count

import cocotb

from hdl.pcie.descriptors import Cause
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_share import ReadShare, ReadShareParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, edges
from sim.harness.verilator import simulate
from tests.rejects import rejects

REQUESTS = 40  #: of each user


def test_read_share():
    user = ReadRequesterParams(data_bits=256, tags=4, max_read=128, user_bits=3)
    simulate(ReadShare(ReadShareParams(user=user, users=3)), __name__)


test_rejects = rejects(
    ReadShareParams, ({"user": ReadRequesterParams(in_order=False)}, "in_order must be true")
)


def beats_of(address):
    """How many beats the answer to a request has."""
    return 1 + address % 4


def cause_of(address):
    """What the answer to a request says."""
    return address % len(Cause)


async def answer(dut, requested, answers):
    """Answer requests in their order; some answers come when those before them have gone."""
    for k in count():
        await requested.wait_for(k + 1)
        if answers.missing:
            await edges(dut.clk, random.choice([1, 5, 20]))
        request = requested.beats[k]
        address, beats = request["address"], beats_of(request["address"])
        for n in range(beats):
            answers.append(
                {
                    "data": address,
                    "bytes": 1 + request["bytes"] % 32,
                    "last": n == beats - 1,
                    "user": request["user"],
                    "cause": cause_of(address),
                }
            )


@crossed(stalls=STALLS, most=[0, 1, 5], us=100)
async def each_user_gets_its_own(dut, stalls, most):
    """Requests have one beat or several; never do more than ``most`` wait for their last beat."""
    bench = await Bench(dut, stalls, most=most).begin()
    users, beats, requested = bench.requests, bench.beats, bench.requested
    expected = [[] for _ in users]
    for k, requests in enumerate(users):
        for address in [0, *(random.getrandbits(64) for _ in range(REQUESTS - 1))]:
            size, count = random.choice([1, 4096, random.randrange(1, 4097)]), beats_of(address)
            requests.append({"address": address, "bytes": size, "user": address & 7})
            expected[k] += [
                (address, 1 + size % 32, n == count - 1, address & 7, cause_of(address))
                for n in range(count)
            ]
    cocotb.start_soon(answer(dut, requested, bench.answers))
    await bench.settle(25)
    for result, right in zip(beats, expected, strict=True):
        assert [
            (b["data"], b["bytes"], bool(b["last"]), b["user"], b["cause"].value)
            for b in result.beats
        ] == right
    steps = Counter(requested.cycles)
    for result in beats:
        steps.subtract(at for b, at in zip(result.beats, result.cycles, strict=True) if b["last"])
    under_way = accumulate(step for _, step in sorted(steps.items()))
    assert not most or max(under_way) <= most
    assert not dut.under_way.value
