from sim.coverage.thresholds import below, percent


def entry(line, toggle, hits=(3, 1)):
    kinds = {"line": line, "toggle": toggle}
    bins = [{"group": "o", "bin": f"waits {k}", "hits": n} for k, n in enumerate(hits)]
    return {"component": "hdl.a.A", "bins": bins} | {
        kind: {"hit": hit, "total": 1000, "excluded": 0} for kind, hit in kinds.items()
    }


def test_at_the_threshold_is_enough():
    assert list(below([entry(line=950, toggle=850)])) == []


def test_a_line_for_each_miss():
    assert list(below([entry(line=949, toggle=849)])) == [
        "hdl.a.A: line coverage 94.9 % (949 of 1000), below 95 %",
        "hdl.a.A: toggle coverage 84.9 % (849 of 1000), below 85 %",
    ]


def test_bins_that_are_not_hit():
    assert list(below([entry(line=1000, toggle=1000, hits=(4, 0, 0))])) == [
        "hdl.a.A: 2 of 3 functional bins not hit, the first is o: waits 1"
    ]


def test_nothing_to_hit_is_all_hit():
    assert percent({"hit": 0, "total": 0}) == 100
