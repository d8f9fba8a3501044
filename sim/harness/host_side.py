"""Says which program of a host drives a design, and what that knows of the build."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hdl.common.registers import RegisterMap


@dataclass(frozen=True, kw_only=True)
class HostSide:
    """Describes the host's side of a design with certain parameters."""

    map: RegisterMap
    main: type  #: class that drives the design
    build_type: type  #: class that describes a build
    build: Mapping[str, Any]  #: its fields

    @property
    def description(self) -> Any:
        """Return the build, as ``main`` knows it."""
        return self.build_type(**self.build)

    def program(self, device: Any, registers: Any) -> Any:
        """Return an object of ``main`` on ``device``, whose fields are ``registers``."""
        return self.main(device, registers, self.description)
