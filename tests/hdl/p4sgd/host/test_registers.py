"""Checks that what the registers' documentation says is what the specification does."""

import re
from fractions import Fraction

import numpy as np
import pytest

from gen.base.registers.python_driver import python_driver
from hdl.p4sgd.host.registers import worker_registers
from hdl.p4sgd.worker_params import WorkerParams
from sim.workloads.layout import Geometry, pack
from sim.workloads.quantise import Quantiser

MAP = worker_registers(WorkerParams())
WEIGHT = r"plane (0|k)(?: > 0)? weighs (-1|2\^-k|2\^-\(k\+1\))"


def documented(signed):
    """Return plane k's weight by the documentation of ``signed_features``, as a function."""
    (doc,) = (
        field["doc"]
        for register in MAP.describe()["registers"]
        for field in register["fields"]
        if field["name"] == "signed_features"
    )
    assert doc in python_driver(MAP)
    weights = dict(
        re.findall(WEIGHT, dict(part.split(": ") for part in doc.split("; ")[1:])[str(signed)])
    )

    def weight(k):
        rule = weights["0"] if k == 0 and "0" in weights else weights["k"]
        powers = {"2^-k": Fraction(1, 1 << k), "2^-(k+1)": Fraction(1, 2 << k)}
        return powers.get(rule) or Fraction(rule)

    return weight


@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("bits", range(1, 9))
def test_planes_weigh_what_the_documentation_says(bits, signed):
    """Each plane is alone: memory has it, and the quantiser gave it that value."""
    weight, quantiser = documented(signed), Quantiser(bits, bool(signed), np.ones(1))
    low = -(1 << bits - 1) if signed else 0
    geometry = Geometry(engines=1, banks=8, lanes=32)
    for code in range(low, low + (1 << bits)):
        codes = np.zeros((8, 32), dtype=np.int16)
        codes[0, 0] = code
        words = pack(codes, bits, geometry, 0, 0)  # a word a plane, plane 0 first
        planes = [int(word[0]) & 1 for word in words]
        value = sum(weight(k) * bit for k, bit in enumerate(planes))
        assert value == Fraction(code, 1 << quantiser.shift), (code, planes)
