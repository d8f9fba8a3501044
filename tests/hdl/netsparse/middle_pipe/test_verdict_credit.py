"""Tests what a packet gives back once its verdict tells what it can become."""

import random

from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.middle_pipe.output_queues import OutputQueuesParams
from hdl.netsparse.middle_pipe.verdict_credit import VerdictCredit
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import benched
from tests.hdl.netsparse.switch.bench import TOR
from tests.simulated import simulated

SIZES = [OutputQueuesParams(switch=TOR, payload=payload) for payload in (False, True)]
test_verdict_credit = simulated(VerdictCredit, SIZES, __name__)


def some_verdict(params):
    """Draw a verdict, its queue, and the beats that its PRs alone take at most."""
    switch, port = params.switch, random.randrange(params.switch.ports)
    if not params.payload:
        port -= port % switch.pipes  # one of this pipe's
    tag = {"egress": port, "uplink": random.getrandbits(1)}
    events = {"tag": pack(switch.tag, tag), "bytes": random.randrange(switch.mtu)}
    queue = port if params.payload else port // switch.pipes
    if random.random() < 0.3:
        return events | {"drops": 1 << random.randrange(len(Drop))}, queue, 0
    most = switch.most_property_bytes
    length = random.choice((4, 44, 48, most, random.randrange(4, most, 4)))
    error = params.payload and random.random() < 0.2
    size = 18 + length * (params.payload and not error)
    max_prs = (switch.mtu - 64) // size
    prs = 1 if error else random.choice((1, max_prs, random.randint(1, max_prs)))
    events |= {"packet": 1, "prs": prs, "length": length, "error": int(error)}
    return events, queue, prs * -(-(64 + size) // 64)


@benched(Bench)
async def gives_back_what_is_too_much(bench):
    """It gives back all of a dropped packet, in any cycle, and nothing without a verdict."""
    params, component = bench.params, bench.component
    room, layout = component.room, params.switch.deconcatenator(params.payload).events
    due, cycles, seen = [None] * component.latency, [], []
    for _ in range(1500):
        verdict = some_verdict(params) if random.random() < 0.7 else None
        garbage = unpack(layout, random.getrandbits(layout.size)) | {"packet": 0, "drops": 0}
        cycles.append({"events": verdict[0] if verdict else garbage})
        due.append(verdict)
    gives = await bench.played(cycles, "give")
    for record, expected in zip(gives, due[: -component.latency], strict=True):
        give = record["give"]
        if expected is None:
            assert give["beats"] == 0
        else:
            _, queue, beats = expected
            assert give["beats"] == room.packet - beats >= 0
            assert not give["beats"] or give["port"] == queue
            seen.append(give["beats"])
    assert room.packet in seen  # of one that was dropped
    assert 0 in seen  # of one that can become all that was taken
