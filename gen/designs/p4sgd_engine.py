"""Describes the P4SGD engine as a design."""

from collections.abc import Mapping

from gen.designs.design import Design, Run, Settings

PRESETS: Mapping[str, Settings] = {
    "tiny": {"lanes": 32, "chunks": 16, "fifo_words": 256},
    "small": {"lanes": 64, "chunks": 256, "fifo_words": 1024},
    "u280": {"dsp": True},
    "u280-16": {
        "dsp": True,
        "ping_pong": True,
        "pair_sums": True,
        "chunks": 2048,
        "fifo_words": 8192,
    },
}

DESIGN = Design(
    name="p4sgd-engine",
    about="one P4SGD engine: forward, backward and update of its share of the model",
    component="hdl.p4sgd.engine.engine:Engine",
    params="hdl.p4sgd.engine.params:EngineParams",
    presets=PRESETS,
    preset="u280",
    runs=[Run(session="sim.p4sgd.engine_session:EngineSession")],
    within="p4sgd-worker",
)
