from types import SimpleNamespace

from sim.netsparse.bench import gather


def test_the_hardware_has_room_for_its_rows():
    rig = gather.HARDWARE.rig
    assert gather.ROWS * rig.most_property_bytes < 1 << rig.address_bits


def test_marks():
    assert gather.LEAST_PIPELINE.holds(0.95)
    assert not gather.LEAST_PIPELINE.holds(0.949)
    assert not gather.ALIGNED.holds(6)


def test_reads_of_a_node_are_those_of_its_clients():
    nodes = [
        SimpleNamespace(totals={"table_stall": stalls}, snic={"cycles": 100}) for stalls in (0, 400)
    ]
    row = gather.reads_row("exchange, 4 B", nodes)
    assert row.value == 4 * gather.HARDWARE.rig.pending_entries == 1024
    assert "before 256; clients wait for one to end in 50% of all cycles" in row.note
