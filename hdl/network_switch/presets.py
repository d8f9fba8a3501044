"""Lists presets: the parameters that differ from the usual sizes."""

from collections.abc import Mapping

from hdl.netsparse.switch.presets import PRESETS as NETSPARSE
from hdl.switch.forwarding.presets import PRESETS as FORWARDING
from hdl.switchgnn.switch.presets import PRESETS as SWITCHGNN

Preset = dict[str, int | str]
#: parameters of the caches of NetSparse's engine
CACHE = {"cache_bytes", "segments", "ways", "idx_bits", "latency", "style"}


def netsparse(preset: Mapping[str, int | str]) -> Preset:
    """Return a preset of NetSparse's switch as one of its engine, whose caches have own names."""
    return engine("netsparse", {f"cache.{n}" if n in CACHE else n: preset[n] for n in preset})


def engine(name: str, preset: Mapping[str, int | str]) -> Preset:
    """Return a preset of a system's switch as one of its engine, which has the switch's ports."""
    return {f"{name}.{key}": value for key, value in preset.items() if key != "ports"}


#: room that a card's MACs need behind a pause, for two classes of ordinary packets
ON_CARD: Preset = {
    "forwarding.classes": 2,
    "forwarding.beats": 8192,
    "forwarding.headroom": 2144,
    "lossless.beats": 4096,
    "lossless.headroom": 2144,
    "lossless.style": "ultra",
}
PRESETS: dict[str, Preset] = {
    "tiny": {
        "ports": 4,
        **engine("forwarding", FORWARDING["tiny"]),
        **engine("p4sgd", {"slots": 256, "jobs": 2, "ingress_depth": 64}),
        **engine("allreduce", {"banks": 2, "slots": 32, "jobs": 2, "egress_depth": 64}),
        **engine("switchgnn", SWITCHGNN["tiny"]),
        **netsparse(NETSPARSE["tiny"]),
        **engine("lossless", {"beats": 256, "headroom": 100}),
    },
    "small": {
        "ports": 8,
        **engine("forwarding", FORWARDING["tiny"]),
        **engine("p4sgd", {"slots": 256, "jobs": 2, "ingress_depth": 64}),
        **engine("allreduce", {"banks": 4, "slots": 64, "jobs": 2, "egress_depth": 64}),
        **engine("switchgnn", SWITCHGNN["small"] | {"slots": 32}),
        **netsparse(NETSPARSE["tiny"]),
        **engine("lossless", {"beats": 256, "headroom": 100}),
    },
    "u280": {
        "ports": 2,
        **engine("p4sgd", {"slots": 4096}),
        **engine("allreduce", {"banks": 4, "slots": 4096}),
        **engine("switchgnn", {"banks": 4, "slots": 4096}),
        **netsparse(NETSPARSE["u280"]),
    },
}
