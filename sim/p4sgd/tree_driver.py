"""Drives a switch that may be one of a tree, as a host."""

from sim.p4sgd.tenant_driver import TenantDriver


class TreeDriver(TenantDriver):
    """Drives the register bus of a simulated switch whose tenants may have parents."""

    async def set_parents(self, address: bytes, place: int) -> None:
        """Set the address of the switches above, and which child of theirs this switch is."""
        await self.write_wide(parent_address=int.from_bytes(address, "little"))
        await self.write(place_at_parents=place)
