"""Describes the engines of a switch for every system: which packets are theirs, what is built."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hdl.allreduce.switch import AllReduceSwitch
from hdl.netsparse.kind_split import CLASSES as PROPERTY_PACKETS
from hdl.netsparse.protocol import PRIORITIES
from hdl.netsparse.switch.params import CLASSES
from hdl.netsparse.switch.switch import NetSparseSwitch
from hdl.network_switch.far_engine import FarEngine, FarEngineParams
from hdl.p4sgd.switch.switch import Switch
from hdl.switch.classifier import Recogniser
from hdl.switchgnn.switch.switch import GnnSwitch


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Describes a stream of an engine: its ports are ``s_NAME`` and ``m_NAME``, arrays by port."""

    name: str = "axis"
    protocols: tuple[Recogniser, ...]  #: of packets for it
    #: Ethernet's priority that is paused while the engine makes packets wait; None: they never wait
    priority: int | None = None

    @property
    def lossless(self) -> bool:
        """Return whether its packets must not be lost for want of room."""
        return self.priority is not None


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Describes a system's switch as a part of a larger one."""

    name: str
    component: type[Any]
    params: Any
    streams: tuple[Stream, ...]
    stages: int = 0  #: registers between it and the ports; 0: none

    def make(self) -> Any:
        """Return the component, behind its registers."""
        if not self.stages:
            return self.component(self.params)
        sizes = {"component": self.component, "own": self.params, "stages": self.stages}
        return FarEngine(FarEngineParams(name=self.name, **sizes))


def engines(params: Any) -> Iterator[Engine]:
    """Yield the engines of a switch with ``params``, in the order of their pages of registers."""
    plain = {"p4sgd": Switch, "allreduce": AllReduceSwitch, "switchgnn": GnnSwitch}
    for name, component in plain.items():
        if getattr(params, f"has_{name}"):
            own = getattr(params, name)
            frames = (Stream(protocols=(own.frames,)),)
            yield Engine(
                name=name,
                component=component,
                params=own,
                streams=frames,
                stages=params.slr_stages,
            )
    if params.has_netsparse:
        streams = tuple(
            Stream(name=f"axis_{name}", protocols=(packets,), priority=priority)
            for name, packets, priority in zip(CLASSES, PROPERTY_PACKETS, PRIORITIES, strict=True)
        )
        own = params.netsparse
        yield Engine(name="netsparse", component=NetSparseSwitch, params=own, streams=streams)
