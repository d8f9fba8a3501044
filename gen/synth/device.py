"""What an FPGA card offers, and what of it is taken before a design is placed."""

from dataclasses import dataclass, fields

from gen.synth.resources import Resources

#: most of each kind, in per cent, that a placement should fill (see LIMITED)
FILL = {"luts": 70, "ff": 50, "bram18": 80, "uram": 80, "dsp": 80}
LIMITED = tuple(FILL)  #: the kinds whose limits are checked; luts are lut + lutram


@dataclass(frozen=True, kw_only=True)
class Slr:
    """A super logic region, one die of the FPGA."""

    name: str
    offers: Resources  #: ``lut`` stands for LUTs of either use
    shell: Resources  #: taken by PCIe, HBM and MAC

    @property
    def free(self) -> dict[str, int]:
        """What is left of each limited kind when the shell has taken its part."""
        return {kind: getattr(self.offers, kind) - getattr(self.shell, kind) for kind in LIMITED}

    @property
    def budget(self) -> dict[str, int]:
        """What a design should use at most: FILL of what the SLR offers, less the shell."""
        return {
            kind: getattr(self.offers, kind) * FILL[kind] // 100 - getattr(self.shell, kind)
            for kind in LIMITED
        }


@dataclass(frozen=True, kw_only=True)
class Device:
    """An FPGA on its card."""

    name: str
    part: str
    slrs: tuple[Slr, ...]  #: in the order in which they touch
    crossing_wires: int  #: registered wires that can cross between neighbours

    @property
    def offers(self) -> Resources:
        """Of all SLRs."""
        return sum((slr.offers for slr in self.slrs), Resources())

    @property
    def shell(self) -> Resources:
        """Of all SLRs."""
        return sum((slr.shell for slr in self.slrs), Resources())


def of_slr(lut: int, ff: int, bram18: int, uram: int, dsp: int) -> Resources:
    """As Vivado lists an SLR."""
    return Resources(lut=lut, ff=ff, bram18=bram18, uram=uram, dsp=dsp)


#: P4SGD's Table III: PCI-Express and HBM subsystem, in SLR0; 1 Mb of RAM is 57 BRAM18
PCIE = Resources(lut=63_000, ff=98_000, bram18=245)
HBM = Resources(lut=10_700, ff=42_000, bram18=186)
#: the soft part around two hardened 100G MACs
MAC = Resources(lut=4_000, ff=8_000)

#: SLRs as Vivado reports them
U280 = Device(
    name="u280",
    part="xcu280-fsvh2892-2L-e",
    slrs=(
        Slr(name="SLR0", offers=of_slr(400_800, 801_600, 1_200, 320, 2_736), shell=PCIE + HBM),
        Slr(name="SLR1", offers=of_slr(382_080, 764_160, 1_152, 320, 2_880), shell=Resources()),
        Slr(name="SLR2", offers=of_slr(380_640, 761_280, 1_152, 320, 2_880), shell=MAC),
    ),
    crossing_wires=5_000,
)

DEVICES = {device.name: device for device in (U280,)}

assert {field.name for field in fields(Resources)} - {"lut", "lutram", "carry"} < set(LIMITED)
