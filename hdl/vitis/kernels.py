"""Makes each design that can be a Vitis kernel one."""

from hdl.gather.engine import GatherEngine
from hdl.gather.engine_params import GatherEngineParams
from hdl.netsparse.params import SnicParams
from hdl.netsparse.snic import Snic
from hdl.netsparse.switch.switch import NetSparseSwitch
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.worker import Worker
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.mac_signals import CLASSES
from hdl.vitis.kernel import Kernel


class WorkerKernel(Kernel):
    """Wraps P4SGD's worker, whose model is copied from and to memory."""

    design = Worker


class EndpointKernel(Kernel):
    """Wraps SwitchGNN's endpoint; a frame whose features could not be read is dropped."""

    design = Endpoint
    breaks_off = True


class SnicKernel(Kernel):
    """Wraps NetSparse's SNIC, whose host bus is an AXI manager to host memory.

    Reads and responses share a port, where no priority is paused: what finds no room is dropped,
    and the watchdog of the request that misses it ends that request.
    """

    design = Snic
    in_host = ("host",)
    streams = tuple(f"axis_{name}" for name in CLASSES)
    breaks_off = True

    def __init__(self, params: SnicParams) -> None:
        if params.dram_address_bits > CHANNEL_BITS:
            raise ValueError(
                f"dram_address_bits must be at most {CHANNEL_BITS} in a kernel, a channel of HBM:"
                f" {params.dram_address_bits}"
            )
        super().__init__(params)


class GatherKernel(Kernel):
    """Wraps the gather engine, whose host bus is an AXI manager to host memory."""

    design = GatherEngine
    in_host = ("host",)
    streams = ()

    def __init__(self, params: GatherEngineParams) -> None:
        if params.outputs != "axi":
            raise ValueError(f"outputs must be axi in a kernel: {params.outputs}")
        super().__init__(params)


class SwitchKernel(Kernel):
    """Wraps P4SGD's switch or MINA's, with a worker or a further switch at each port."""

    design = Switch


class GnnSwitchKernel(Kernel):
    """Wraps SwitchGNN's switch, with a worker at each port; its tables are on chip."""

    design = GnnSwitch

    def __init__(self, params: GnnSwitchParams) -> None:
        if params.in_memory:
            raise ValueError("tables must be chip in a kernel, whose host cannot load them: memory")
        super().__init__(params)


class NetSparseSwitchKernel(Kernel):
    """Wraps NetSparse's switch; a packet that finds no room is dropped, as at a SnicKernel."""

    design = NetSparseSwitch
    streams = tuple(f"axis_{name}" for name in CLASSES)
    breaks_off = True
