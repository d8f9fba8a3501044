"""Carries frames between workers and the golden switch of wide frames, on bad links."""

from collections import Counter

from sim.golden.reduction.wide_frames import MOST, Operation, judge
from sim.golden.reduction.wide_switch import WideSwitchModel
from sim.golden.reduction.wide_worker import WideWorker

ADDRESS, GROUP, OTHER = bytes(range(6)), bytes(range(6, 12)), bytes(6)


def setup(workers=2, **sizes):
    most = max(MOST, sizes.get("length", MOST))
    switch = WideSwitchModel(ports=4, slots=16, jobs=2, address=ADDRESS, group=GROUP, most=most)
    assert switch.start_job(1, ports=(1 << workers) - 1, epoch=3, base=5, count=8) is None
    common = {"address": ADDRESS, "group": GROUP, "job": 1, "epoch": 3, "base": 5} | sizes
    return switch, [WideWorker(port=k, **common) for k in range(workers)]


def carried(random, data, bad):
    """Return what becomes of a frame: copies, each with its bytes, delay, and whether corrupt."""
    for _ in range(random.choices([0, 1, 2], [bad, 1 - bad, bad / 2])[0]):
        kind = random.random() if bad else 1
        data = data[: random.randrange(len(data))] if kind < 0.04 else data
        data = OTHER + data[6:] if 0.04 < kind < 0.08 else data
        yield data, random.randint(1, 40 if bad else 1), 0.08 < kind < 0.12


def reduced(random, switch, workers, numbers, operation=Operation.SUM, bad=0.0):
    """Reduce a row of numbers for each worker; return how many frames came in of each quality."""
    came, flying = Counter(), []
    for worker, row in zip(workers, numbers, strict=True):
        worker.begin(row, operation)
    for now in range(1_000_000):
        due = [(worker.port, data) for worker in workers for data in worker.due(now)]
        sent = [(None, *item) for item in due]
        for item in [item for item in flying if item[0] <= now]:
            flying.remove(item)
            _, to, port, data, corrupt = item
            came[judge(data, corrupt, ADDRESS if to is None else GROUP, switch.most)] += 1
            if to is None:
                answers = switch.take(port, data, corrupt=corrupt)
                sent += [(k, k, answer) for k, answer in answers]
            else:
                workers[to].take(data, corrupt=corrupt)
        for to, port, data in sent:
            for copy, delay, corrupt in carried(random, data, bad):
                flying.append((now + delay, to, port, copy, corrupt))
        if all(worker.done for worker in workers):
            return came
    raise AssertionError("the operation does not end")
