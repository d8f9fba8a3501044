import random

import cocotb
from cocotb.triggers import Timer

from hdl.netsparse.concat.concatenation import Concatenation
from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from sim.harness.payloads import pack, unpack
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

PR = 18  #: bytes in front of a property

PARAMS = ConcatenatorParams(payload=True, nodes=4, mtu=600, most_property_bytes=256, groups=True)
test_concatenation = simulated(Concatenation, [PARAMS], __name__)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_beat_more(dut):
    params = params_in_simulator(ConcatenatorParams)
    seen = {"closes": 0, "grows": 0, "opens": 0}
    for _ in range(3000):
        first, last = random.getrandbits(1), random.getrandbits(1)
        opens = first and random.random() < 0.3
        length = random.choice([4, 64, 130, 256, 2 * random.randint(2, 128)])
        size = PR * first + (64 if not last else length % 64 or 64)
        # As full as may be, which is what matters, or anything.
        used = params.room - size - random.choice([0, 1, PR + length - 1, PR + length])
        used = max(used, 1) if random.getrandbits(1) else random.randint(1, params.room - size)
        before = {name: random.getrandbits(field.width) for name, field in params.mark}
        before |= {"used": used, "length": length, "prs": random.randint(1, 20)}
        line, free = random.sample(range(params.lines), 2)
        arrival = {"first": first, "last": last, "alone": random.random() < 0.1}
        arrival |= {"ends": random.random() < 0.1}
        arrival |= {"dest": random.randrange(4), "error": random.getrandbits(1)}
        arrival |= {"length": length, "bytes": size}
        late = random.random() < 0.1
        most = params.room - size - (PR + length)
        dut.arrival.value = pack(params.arrival, arrival)
        dut.demand.value = pack(params.demand, {"lines": 1, "most": most})
        dut.before.value = pack(params.state, {"mark": before, "line": line})
        dut.opens.value, dut.late.value, dut.free.value = opens, late, free
        await Timer(1, "ns")
        taken = 0 if opens else used
        assert int(dut.offset.value) == taken % LINE_BYTES
        grows = -(-(taken + size) // LINE_BYTES) > -(-taken // LINE_BYTES)
        assert bool(dut.grows.value) == grows
        full = taken + size + PR + length > params.room
        closes = last and (arrival["ends"] or late or full)
        reported = dut.closes_new if opens else dut.closes_joined
        assert bool(reported.value) == bool(closes)
        assert unpack(params.state, int(dut.after.value)) == {
            "mark": {
                "dest": arrival["dest"],
                "error": arrival["error"],
                "length": length,
                "prs": 1 if opens else before["prs"] + first,
                "used": taken + size,
                "first": free if opens else before["first"],
            },
            "line": free if grows else line,
        }
        for name, value in (("closes", closes), ("grows", grows), ("opens", opens)):
            seen[name] += bool(value)
    assert all(300 < count < 2700 for count in seen.values()), seen
