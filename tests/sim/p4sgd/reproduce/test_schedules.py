"""Checks the table of three schedules: the memory that is counted, and the statements."""

from sim.golden.choices import Schedule
from sim.p4sgd.reproduce import schedules
from sim.p4sgd.reproduce.points import Measurement, measure
from tests.sim.p4sgd.reproduce.figures import broken, by_the_formula

LINK = 20


def test_on_the_rtl():
    requested = schedules.points(True, LINK)
    result = schedules.figure(True, LINK, measure(requested, lambda *_: None))
    assert broken(result) == []
    rows = {row["schedule"]: row for row in result.rows}
    assert [row["network_bytes"] for row in result.rows] == [2048 * 4, 64 * 4, 64 * 4]
    assert [row["model_bytes"] for row in result.rows] == [2048 * 4, 512 * 4, 512 * 4]
    assert {row["data_set_bytes"] for row in result.rows} == {128 * 512 * 4 // 8}
    assert "MB: 256 B" in result.text()
    assert list(rows) == [schedule.value for schedule in schedules.TERMS]


def counted(point, slow=()):
    measurement = by_the_formula([point])[point]
    cycles = measurement.batch_cycles * (9 if point.schedule in slow else 1)
    packets = 2 * 4 * (256 if point.schedule is Schedule.DATA_PARALLEL else 16)
    return Measurement(cycles, [{"words": 2048, "sent_packets": packets}])


def test_statements_are_decided_by_the_numbers():
    def broken_by(**changes):
        requested = schedules.points(True, LINK)
        return broken(
            schedules.figure(True, LINK, {point: counted(point, **changes) for point in requested})
        )

    assert broken_by() == []
    order = (
        "pipelined order takes less time than vanilla order, and this less than data parallelism"
    )
    assert order in broken_by(slow=[Schedule.PIPELINED])
    assert order in broken_by(slow=[Schedule.VANILLA])
