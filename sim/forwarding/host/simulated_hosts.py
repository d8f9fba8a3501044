"""Stands in for a card with a forwarding switch: its registers, and the hosts at its ports."""

from typing import Any

from sim.host.simulated_ports import SimulatedPorts

ANSWER_CYCLES = 100  #: after which every copy of a packet has left


class SimulatedHosts(SimulatedPorts):
    """Drives a simulated switch; its streams are called after their ports, ``0`` and so on."""

    def __init__(self, dut: Any, ports: int) -> None:
        super().__init__(dut, map(str, range(ports)), ANSWER_CYCLES)

    async def start(self) -> None:
        """Reset the switch, with neighbours that never pause."""
        for name in self.came:
            getattr(self.dut, f"paused_{name}").value = 0
        await super().start()

    def ask(self, port: int, packet: bytes) -> list[int]:
        """Send a packet into a port; return the ports that it has left by."""
        self.send(str(port), packet)
        left = []
        for name, came in self.came.items():
            while came:
                assert came.popleft() == packet
                left.append(int(name))
        return left
