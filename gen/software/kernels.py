"""Says what a host must know of a design that is a Vitis kernel."""

from collections.abc import Callable, Mapping
from typing import Any

from gen.base.emission.emit import module_name
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.vitis.kernel import HOST, Kernel
from hdl.vitis.kernel_registers import ADDRESS_BITS, IDENTITY, kernel_registers
from sim.host.xrt import PLACE_BITS

CHANNEL_BYTES = 1 << CHANNEL_BITS  #: of a channel of HBM


def kernel_of(
    kind: type[Kernel],
    params: Any,
    places: Callable[[Mapping[str, int]], Mapping[str, Any]] = lambda place: {"board": {}},
    reserved: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the fields of a Software that describe a design as a kernel; none if it cannot be.

    ``places`` returns fields of the build that differ, of where each manager's buffer is by the
    manager's name; ``reserved`` are bytes of buffers that only the kernel uses, likewise.
    """
    try:
        kernel = kind(params)
    except ValueError:  # it has too many managers or ports
        return {}
    names, banks = kernel.kernel.managers, kernel.banks()
    place = {name: number << PLACE_BITS for number, name in enumerate(names)}
    fields = {
        field.name: ((1 << ADDRESS_BITS) + address, offset, field.bits)
        for address, register in kernel_registers(kernel.kernel).placed
        for offset, field in zip(register.offsets, register.fields, strict=True)
    }
    special = {name: names.index(name) for name in ("model", "device") if name in names}
    described = {
        "name": module_name(kernel),
        "managers": names,
        "banks": banks,
        "most": tuple(
            1 << kernel.buses[port].address_bits if bank == HOST else CHANNEL_BYTES
            for bank, (_, port, _) in zip(banks, kernel.managers(), strict=True)
        ),
        **special,
        "beat": kernel.mover.data_bits // 8 if kernel.mover else 1,
        "reserved": {names.index(name): size for name, size in (reserved or {}).items()},
        "identity": IDENTITY,
        "fields": fields,
    }
    return {"kernel": described, "places": places(place)}
