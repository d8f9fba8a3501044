"""Describes the sizes of a switch for every system: its ports, its forwarding, and its engines."""

from dataclasses import field, fields, replace

from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.params import Params, whole
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.network_switch.engines import engines
from hdl.network_switch.lossless_port import LosslessPortParams
from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switchgnn.switch.params import GnnSwitchParams

HAS = "has_"  #: begins the name of a flag that says whether an engine is built


class NetworkSwitchParams(Params, suffix="p{ports}_{built}"):
    """Sets the sizes of a switch, of which all parts have as many ports."""

    ports: int = whole(2, 16, default=8)  #: number of ports
    has_p4sgd: bool = True  #: whether there is an engine for P4SGD's AllReduces
    has_allreduce: bool = True  #: whether there is one for AllReduces of many numbers
    has_switchgnn: bool = True  #: whether there is one for SwitchGNN's sums
    has_netsparse: bool = True  #: whether there is one for NetSparse's packets
    forwarding: ForwardingParams = field(default_factory=ForwardingParams)  #: of other packets
    p4sgd: SwitchParams = field(default_factory=SwitchParams)  #: its engine
    #: its engine
    allreduce: AllReduceSwitchParams = field(default_factory=AllReduceSwitchParams)
    switchgnn: GnnSwitchParams = field(default_factory=GnnSwitchParams)  #: its engine
    netsparse: NetSparseSwitchParams = field(default_factory=NetSparseSwitchParams)  #: its engine
    lossless: LosslessPortParams = field(default_factory=LosslessPortParams)  #: NetSparse's buffers
    #: registers to each engine whose packets never wait, and back; 0: the engines are in one die
    slr_stages: int = whole(0, 6, default=0, tag="_x{}")

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in fields(self):
            value = getattr(self, part.name)
            if "ports" in getattr(value, "field_rules", {}):
                object.__setattr__(self, part.name, replace(value, ports=self.ports))
        object.__setattr__(
            self, "allreduce", replace(self.allreduce, announces=not self.slr_stages)
        )
        if self.switchgnn.in_memory:
            raise ValueError("switchgnn.tables must be chip, as the switch has no memory: memory")

    @property
    def built(self) -> str:
        """Return the names of the engines that are built."""
        return "_".join(engine.name for engine in engines(self)) or "forwarding"

    @property
    def hub(self) -> ForwardingParams:
        """Return the parameters of the ports, which know the packets of each engine's streams."""
        streams = tuple(each.protocols for engine in engines(self) for each in engine.streams)
        return replace(self.forwarding, recognisers=streams)
