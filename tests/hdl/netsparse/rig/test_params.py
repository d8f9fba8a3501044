import pytest

from hdl.netsparse.idx_filter.port import FilterPortParams
from hdl.netsparse.rig.params import FAILURES, ID_BITS, Cause, RigParams
from tests.hdl.netsparse.rig.bench import TINY
from tests.rejects import rejects

test_rejects = rejects(
    RigParams,
    (
        {"property_buffer_bytes": 512, "most_property_bytes": 516},
        "property_buffer_bytes must hold a property of 516 bytes: 512",
    ),
    ({"lsq_reserved": 1}, "lsq_reserved must be a whole number from 2 to 62: 1"),
    ({"lsq_reserved": 63}, "lsq_reserved must be a whole number from 2 to 62: 63"),
)


@pytest.mark.parametrize("reserved", [2, 62])
def test_any_lsq_is_a_legal_port(reserved):
    params = RigParams(lsq_reserved=reserved)
    port = FilterPortParams(
        lsq_entries=params.lsq_entries, reserved=params.lsq_reserved, entry_bits=params.entry_bits
    )
    assert (port.reserved, port.lookup_slots) == (reserved, 64 - reserved)
    beyond = {2: 1, 62: 63}[reserved]
    with pytest.raises(ValueError, match=f"^reserved must be .* from 2 to 62.*: {beyond}"):
        FilterPortParams(reserved=beyond, entry_bits=params.entry_bits)


def test_widths():
    paper = RigParams()
    assert (paper.entry_bits, paper.generation_bits) == (8, ID_BITS - 8)
    assert (paper.property_beats, paper.max_beats) == (64, 8)
    assert (TINY.entry_bits, TINY.property_beats, TINY.max_beats) == (2, 8, 3)
    # A bound may be one behind the last idx there can be.
    assert dict(TINY.partition)["columns"].width == TINY.idx_bits + 1


def test_every_other_cause_is_a_failure_on_the_path():
    names = {cause.name.lower() for cause in Cause}
    assert {*FAILURES.members} == names - {"done", "command", "watchdog", "array", "descriptor"}


def test_suffixes_differ():
    assert TINY.suffix != RigParams().suffix
