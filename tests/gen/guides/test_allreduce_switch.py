"""Checks that the guide of the switch of AllReduces is whole, and its known answer the model's."""

import pytest

from gen.designs.catalogue import find_design
from gen.guides import allreduce_switch
from gen.guides.allreduce_switch import guide, values
from hdl.allreduce.registers import switch_registers
from hdl.allreduce.wide_params import WideVerdict
from sim.golden.reduction.wide_switch import WideSwitchModel
from tests.gen.guides.bench import check_text

DESIGN = find_design("allreduce-switch")


@pytest.mark.parametrize("preset", DESIGN.presets)
def test_the_text_is_whole(preset):
    params = DESIGN.params_of(preset)
    text = guide(params)
    assert text.count("\n## ") == 7
    check_text(text, switch_registers(params))
    stored = {name for _, name, _ in values(params)["verdicts"]}
    assert stored == set(WideVerdict.__members__) - {"NONE"}
    assert stored >= {*allreduce_switch.JUDGED}


def octets(shown):
    """Return the bytes of lines that begin with the number of their first byte."""
    return bytes.fromhex("".join(line.partition(":")[2] for line in shown))


def test_the_known_answer_is_that_of_the_model():
    known = values(DESIGN.params_of("tiny"))["known"]
    model = WideSwitchModel(
        ports=2,
        slots=32,
        jobs=2,
        address=bytes.fromhex(known["switch"]),
        group=bytes.fromhex(known["group"]),
    )
    job = {"ports": 0b11, "epoch": known["epoch"], "base": 0, "count": known["slots"]}
    assert not model.start_job(known["job"], **job)
    goes_to = {"nothing": (), "pending, to port 0": (0,)}
    for step in known["steps"]:
        answers = model.take(step["port"], octets(step["frame"]))
        ports = goes_to.get(step["what"], (0, 1))
        assert answers == [(port, octets(step["answer"])) for port in ports]
