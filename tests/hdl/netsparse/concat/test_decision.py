"""Tests what becomes of a beat, in every case there is."""

from itertools import product

import cocotb
from cocotb.triggers import Timer

from hdl.netsparse.concat.decision import Decision
from sim.harness.verilator import simulate

INPUTS = (
    *("expires", "waits", "inside", "present", "able", "enough", "first", "last", "fresh"),
    *("closes_new", "closes_joined", "displaced"),
)


def test_decision():
    simulate(Decision(), __name__)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def every_case(dut):
    for values in product((0, 1), repeat=len(INPUTS)):
        case = dict(zip(INPUTS, values, strict=True))
        for name, value in case.items():
            getattr(dut, name).value = value
        await Timer(1, "ns")
        result = {name: bool(getattr(dut, name).value) for name in decided(**case)}
        assert result == decided(**case), case


def decided(
    *,
    expires,
    waits,
    inside,
    present,
    able,
    enough,
    first,
    last,
    fresh,
    closes_new,
    closes_joined,
    displaced,
):
    """Return what happens, said in words of packets."""
    own_expires = bool(expires and present and not inside)  # that of the beat's queue
    becomes_late = bool(expires and present and inside)
    one_too_many = expires and waits
    moves = bool(able and enough and not one_too_many)
    opens = bool(first and (fresh or own_expires))
    full = closes_new if opens else closes_joined or (becomes_late and last)
    displaces = bool(displaced and not own_expires and not one_too_many)
    return {
        "expires_now": bool(expires and not becomes_late),
        "expires_here": own_expires,
        "late_now": becomes_late,
        "moves": moves,
        "opens": opens,
        "displaces": displaces,
        "closes": displaces or bool(moves and full),
    }
