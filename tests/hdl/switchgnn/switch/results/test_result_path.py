"""Sends sums of any bank, slot and tag to ports whose jobs change, with copies in between."""

import random
from collections import Counter, deque

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.results.result_path import ResultPath
from hdl.switchgnn.switch.sizes import READ_CYCLES
from sim.harness.bench import Bench
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, crossed
from tests.hdl.switchgnn.switch.banks.bank_model import some_sums
from tests.simulated import simulated

SIZES = [
    GnnSwitchParams(ports=3, lanes=2, window=4, banks=2, slots=16, jobs=2),
    GnnSwitchParams(ports=2, lanes=32, window=32, banks=1, slots=512, jobs=1),
    GnnSwitchParams(ports=8, lanes=4, window=32, banks=8, slots=32768, jobs=32),
]

test_result_path = simulated(
    ResultPath, SIZES, __name__, each=True, ids=lambda params: f"{params.ports}x{params.banks}"
)


def some(shape, **fields):
    return unpack(shape, random.getrandbits(shape.size)) | fields


class ResultPathBench(Bench):
    """Tells the ports' jobs, and knows what becomes of each sum and copy, and when."""

    def __init__(self, dut):
        super().__init__(dut)
        self.ports, self.banks = range(self.params.ports), range(self.params.banks)
        self.epochs = [random.getrandbits(16) for _ in range(self.params.jobs)]
        self.jobs, self.regions = [], []
        for _ in self.ports:
            job, region = self.some_job()
            self.jobs.append(job)
            self.regions.append(region)
        self.expected = deque([(0, None)] * ResultPath.latency)
        self.reads = deque([None] * READ_CYCLES)  # banks
        self.seen = Counter()

    def some_job(self):
        params = self.params
        two = random.getrandbits(1)
        count = random.randint(1, params.slots >> two)
        base = random.randint(0, params.slots - (count << two))
        lo = random.choice((0, 255, (1 << 32) - 2, random.getrandbits(32)))
        number = random.randrange(params.jobs)
        job = {"active": random.random() < 0.9, "job": number, "epoch": self.epochs[number]}
        return job | {"lo": lo}, {"base": base, "count": count, "two": two}

    def some_result(self):
        """Draw a sum for a port, half of the time of an open turn, often among its aggregators."""
        params, port = self.params, random.choice(self.ports)
        job, region = self.jobs[port], self.regions[port]
        tag = random.choice((job["lo"] + random.randint(-1, 2), random.getrandbits(8))) & 255
        end = region["base"] + (region["count"] << region["two"])
        edges = (region["base"], end - 1, end, region["base"] + region["count"])
        slot = random.choice(
            (*edges, random.randrange(params.slots), random.randrange(*edges[:3:2]))
        )
        sums = list(some_sums(params))
        return some(params.bank_result, port=port, tag=tag, slot=slot % params.slots, sums=sums)

    def some_copy(self):
        """Draw a copy for the ports of a job, and sometimes for others."""
        number = random.choice(self.jobs)["job"]
        ports = sum(1 << k for k in self.ports if self.jobs[k]["job"] == number)
        others = random.getrandbits(self.params.ports) if random.random() < 0.5 else 0
        return ports | others, some(self.params.copy, job=number)

    def result_of(self, bank, result):
        """Return what its port gets of a sum; None if that is nothing."""
        port = result["port"]
        job, region = self.jobs[port], self.regions[port]
        if not job["active"]:
            return None
        for turn in range(job["lo"], job["lo"] + 1 + region["two"]):
            half = turn & 1 if region["two"] else 0
            index = result["slot"] - region["base"] - half * region["count"]
            if turn & 255 == result["tag"] and 0 <= index < region["count"]:
                number = index * self.params.banks + bank
                run = {"job": job["job"], "epoch": job["epoch"], "turn": turn}
                return run | {"raw": 0, "list": number, "sums": result["sums"]}
        return None

    async def step(self, *, read=None, finds=True, copies=False):
        """Play a cycle with a READ of a bank, and what an earlier one ``finds``, or else a copy."""
        dut, params = self.dut, self.params
        self.reads.append(read)
        bank, result, ports, copy = self.reads.popleft(), None, 0, None
        if bank is not None and finds:
            result = self.some_result()
        elif copies:
            ports, copy = self.some_copy()
        bank = None if result is None else bank
        dut.read.value = 0 if read is None else 1 << read
        for k in self.ports:
            getattr(dut, f"jobs_{k}").value = pack(params.port_job, self.jobs[k])
            getattr(dut, f"regions_{k}").value = pack(params.port_region, self.regions[k])
        dut.valids.value = 0 if bank is None else 1 << bank
        for b in self.banks:
            shown = result if b == bank else some(params.bank_result)
            getattr(dut, f"results_{b}").value = pack(params.bank_result, shown)
        dut.copies.value = ports
        dut.copy.value = pack(params.copy, copy or some(params.copy))
        delivery, deliver = None, 0
        if result is not None:
            ports = 1 << result["port"]
            delivery = self.result_of(bank, result)
            deliver = ports if delivery else 0
        elif ports:
            fits = [job["active"] and job["job"] == copy["job"] for job in self.jobs]
            lowest = (ports & -ports).bit_length() - 1
            deliver = ports & sum(fit << k for k, fit in enumerate(fits)) if fits[lowest] else 0
            delivery = {name: copy[name] for name in ("job", "turn", "source")}
            delivery |= {"raw": 1, "epoch": self.epochs[copy["job"]]}
            features = pack(params.features, copy["features"])
            delivery |= {"sums": unpack(params.sums, features)[: params.lanes // 2]}
        self.expected.append((deliver, delivery))
        self.seen["nobody"] += bool(ports & ~deliver)
        await self.edge
        self.look()

    def look(self):
        deliver, golden = self.expected.popleft()
        assert int(self.dut.deliver.value) == deliver
        if deliver:
            delivery = unpack(self.params.delivery, int(self.dut.delivery.value))
            if golden["raw"]:  # whose features are in half of the sums
                delivery["sums"] = delivery["sums"][: self.params.lanes // 2]
            assert {name: delivery[name] for name in golden} == golden
            self.seen[f"raw {golden['raw']}"] += 1


@crossed(stalls=STALLS)
async def sums_and_copies(dut, stalls):
    """Each comes a fixed time after its input, without a gap if there is none."""
    source, change = stalls
    bench = await ResultPathBench(dut).begin()
    for _ in range(1500):
        if change() or random.random() < 0.02:
            k = random.choice(bench.ports)
            bench.jobs[k], bench.regions[k] = bench.some_job()
        if random.random() < 0.1:
            job = random.choice(bench.jobs)
            job["lo"] += job["lo"] < (1 << 32) - 2
        read = None if source() or random.random() < 0.2 else random.choice(bench.banks)
        await bench.step(read=read, finds=random.random() < 0.9, copies=not source())
    for _ in range(READ_CYCLES + ResultPath.latency):
        await bench.step()
    assert min(bench.seen[name] for name in ("nobody", "raw 0", "raw 1")) > 10
