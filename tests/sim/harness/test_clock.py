from sim.harness import clock


def test_counts_edges(monkeypatch):
    """What the simulator says of time is tested in test_streams.py."""
    monkeypatch.setattr(clock, "convert", lambda value, unit, to: value * 1000)
    for picoseconds, count in ((0, 1), (3999, 1), (4000, 2), (400_010, 101)):
        monkeypatch.setattr(clock, "get_sim_time", lambda unit, now=picoseconds: now)
        assert clock.cycle() == count
