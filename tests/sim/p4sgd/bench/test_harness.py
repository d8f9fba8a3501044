from sim.p4sgd.bench.harness import judge_overhead


def found(seconds, *runs):
    items = [{"runs": [{"built": built} for built in runs]}, {"runs": []}]
    return {"seconds": seconds, "jobs": 2, "simulation_seconds": 100.0, "items": items}


def test_overhead_is_of_all_workers():
    (row,) = judge_overhead(found(55.0, False, True))
    assert row.value == 1.1
    assert row.holds
    assert row.note == "55 s with 2 jobs, 100 s in simulators, 2 items, 1 built"
    assert not judge_overhead(found(56.0))[0].holds
