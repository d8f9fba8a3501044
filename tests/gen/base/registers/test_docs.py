"""Checks that texts of registers and fields can be read alone: each is a sentence with a verb.

A host's programmer reads them in the datasheet, the C header, SystemRDL, the driver and HTML pages.
"""

import pytest

from gen.designs.catalogue import designs
from gen.designs.design import load
from hdl.common.registers import Field, Register, RegisterMap
from hdl.u280.registers import BoardRegistersParams, board_registers

#: what registers and fields do, in the third person
VERBS = {
    *("abandons", "adds", "chooses", "clears", "controls", "counts", "cuts", "describes"),
    *("drops", "empties", "ends", "enters", "identifies", "joins", "lets", "limits"),
    *("makes", "puts", "reads", "resets", "sets", "shows", "starts", "stops", "submits", "takes"),
    *("tells", "tries", "turns"),
}
FEWEST, MOST = 4, 40  #: words of a text

CHANGES = {"tiny": {}, "links": {"links": 1}, "memory": {"tables": "memory"}}


def maps_of(design):
    """Return a design's register maps at ``tiny``, and with options that add registers."""
    make = getattr(load(design.component), "register_map", None)
    if make is None:
        return
    for changes in CHANGES.values():
        if not changes or changes.keys() <= design.params_class.__dataclass_fields__.keys():
            yield make(design.params_of("tiny", **changes))


MAPS = {map.name: map for design in designs().values() for map in maps_of(design)}
MAPS["board"] = board_registers(BoardRegistersParams(cages=2, hbm=True, flow="kinds"))


def findings(map):
    """Return the registers and fields whose texts cannot be read alone, with those texts."""
    texts = {register.name: register.doc for register in map.registers}
    texts |= {f"{r.name}.{field.name}": field.doc for r in map.registers for field in r.fields}
    return {
        name: text
        for name, text in texts.items()
        if text.split(" ")[0].rstrip(",:;").lower() not in VERBS
        or not FEWEST <= len(text.split()) <= MOST
    }


@pytest.mark.parametrize("map", MAPS.values(), ids=list(MAPS))
def test_every_text_is_a_sentence_that_begins_with_a_verb(map):
    assert findings(map) == {}


def test_every_design_with_registers_is_looked_at():
    assert {
        "allreduce_switch",
        "forwarding_switch",
        "network_switch",
        "p4sgd_worker",
        "p4sgd_switch",
        "tenant_switch",
        "netsparse_snic",
        "netsparse_switch",
        "switchgnn_endpoint",
        "switchgnn_switch",
        "switchgnn_switch_in_memory",
        "switchgnn_switch_with_links",
        "gather_engine",
        "board",
    } == MAPS.keys()


@pytest.mark.parametrize("text", ["value of the counter", "sets it", "a bit for each port of it"])
def test_a_text_without_a_verb_or_an_object_is_detected(text):
    map = RegisterMap("one", (Register("one", "Sets what one is.", Field("a", 1, "rw", text)),))
    assert findings(map) == {"one.a": text}
