"""Says what a host must know of a design that is a Vitis kernel."""

from typing import Any

from gen.base.emission.emit import module_name
from hdl.p4sgd.worker_params import WorkerParams
from hdl.vitis.kernel_registers import ADDRESS_BITS, IDENTITY, kernel_registers
from hdl.vitis.worker_kernel import WorkerKernel, hbm_channels
from sim.host.xrt import PLACE_BITS

CHANNEL_BYTES = 1 << 28  #: of a channel of HBM


def worker_kernel(params: WorkerParams) -> dict[str, Any]:
    """Return the fields of a Software that describe a worker as a kernel; none if it cannot be."""
    try:
        kernel = WorkerKernel(params)
    except ValueError:  # it has too many managers
        return {}
    names = kernel.kernel.managers
    place = {name: number << PLACE_BITS for number, name in enumerate(names)}
    weights = [number for number, name in enumerate(names) if name.startswith("weights")]
    fields = {
        field.name: ((1 << ADDRESS_BITS) + address, offset, field.bits)
        for address, register in kernel_registers(kernel.kernel).placed
        for offset, field in zip(register.offsets, register.fields, strict=True)
    }
    described = {
        "name": module_name(kernel),
        "managers": names,
        "banks": tuple(f"HBM[{channel}]" for channel in hbm_channels(kernel)),
        "most": CHANNEL_BYTES,
        "model": names.index("model"),
        "beat": kernel.mover.data_bits // 8,
        "reserved": dict.fromkeys(weights, 1 << params.weight_address_bits),
        "identity": IDENTITY,
        "fields": fields,
    }
    places = {
        "words": tuple(place[f"words_{k}"] for k in range(params.sets * params.ports)),
        "labels": place["labels"],
        "labels_end": 0,
        "model": place["model"],
        "board": {},
    }
    return {"kernel": described, "places": places}
