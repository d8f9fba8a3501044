"""Finds what the guides of P4SGD's worker and switch say of the frames between them."""

from typing import Any

from gen.guides.guide import little_rows
from hdl.common.packets import BEAT_BYTES
from hdl.p4sgd.network.frame import ETHERTYPE, FRAME_BYTES, VERSION, Frame
from hdl.switch.slots import USES


def head_uses(ethertype: int, version: int) -> dict[str, str]:
    """Return what each field holds that frames of all-reduces have in common."""
    return {
        "destination": "Ethernet address, first byte first",
        "source": "Ethernet address, first byte first",
        "ethertype": ethertype.to_bytes(2, "big").hex(" ").upper(),
        "version": str(version),
        "is_agg": "flag, see below",
        "acked": "flag, see below",
        "no_flags": "zero",
        "bm": "bitmap of ports",
        "job": "number of the job",
        "seq": "number of the slot",
        "use": f"number of the slot's use, modulo {USES}",
    }


#: what each field of a frame holds
FRAME_USES = {
    **head_uses(ETHERTYPE, VERSION),
    "epoch": "number of the job's run, its low 16 bits",
    "saturated": "bit k if lane k of a full activation was clamped",
    "payload": "eight activations, each of 4 bytes in two's complement",
}


def frame_values(shadow: bool) -> dict[str, Any]:
    """Return what ``p4sgd_frames.md.j2`` names, with ``shadow`` copies or acknowledgements."""
    return {
        "shadow": shadow,
        "bytes": FRAME_BYTES,
        "beat_bytes": BEAT_BYTES,
        "frame": list(little_rows(Frame.as_shape(), FRAME_USES)),
    }
