"""Describes what an FPGA card offers, what of it is taken beforehand, and whether a design fits."""

from dataclasses import dataclass, fields, replace

from gen.synth.resources import KINDS, Resources

#: most of each kind, in per cent, that a placement should fill (see LIMITED)
FILL = {"luts": 70, "ff": 50, "bram18": 80, "uram": 80, "dsp": 80}
LIMITED = tuple(FILL)  #: the kinds whose limits are checked; luts are lut + lutram


@dataclass(frozen=True, kw_only=True)
class Slr:
    """Describes a super logic region, one die of the FPGA."""

    name: str
    offers: Resources  #: ``lut`` stands for LUTs of either use
    shell: Resources  #: taken by PCIe, HBM and MAC

    @property
    def free(self) -> dict[str, int]:
        """Return what the shell leaves of each limited kind."""
        return {kind: getattr(self.offers, kind) - getattr(self.shell, kind) for kind in LIMITED}

    @property
    def budget(self) -> dict[str, int]:
        """Return what a design should use at most: FILL of what the SLR offers, less the shell."""
        return {
            kind: getattr(self.offers, kind) * FILL[kind] // 100 - getattr(self.shell, kind)
            for kind in LIMITED
        }


@dataclass(frozen=True, kw_only=True)
class Device:
    """Describes an FPGA on its card."""

    name: str
    part: str
    slrs: tuple[Slr, ...]  #: the SLRs, in the order in which they touch
    crossing_wires: int  #: most that a placement should let cross between neighbours

    @property
    def offers(self) -> Resources:
        """Add up the resources of all SLRs."""
        return sum((slr.offers for slr in self.slrs), Resources())

    @property
    def shell(self) -> Resources:
        """Add up what the shell takes of all SLRs."""
        return sum((slr.shell for slr in self.slrs), Resources())


def of_slr(lut: int, bram36: int, uram: int, dsp: int) -> Resources:
    """Return what an SLR of UltraScale+ offers; it has two registers for each LUT."""
    return Resources(lut=lut, ff=2 * lut, bram18=2 * bram36, uram=uram, dsp=dsp)


#: What the vendor's IP takes, which estimates leave out: so it is taken off here, once.
#: P4SGD's Table III: PCI-Express and HBM subsystem, in SLR0; 1 Mb of RAM is 57 BRAM18
PCIE = Resources(lut=63_000, ff=98_000, bram18=245)
HBM = Resources(lut=7_000, ff=42_000, bram18=186)
#: the soft part around two hardened 100G MACs
MAC = Resources(lut=4_000, ff=8_000)

#: Super long lines between neighbouring SLRs: in the clock regions at an edge 32 columns of 120
#: Laguna sites, six wires each. ``get_property NUM_TOP_SLLS [get_slrs SLR0]`` tells the number in
#: Vivado (UG949, "Super Long Line Routes"); reports of routed designs on this part have it, too.
SLLS = 32 * 120 * 6
#: The share of them that a placement should use, in per cent. UG949 names none. Routed designs on
#: this part are known with 85 to 95 % at 130 to 150 MHz, and others in which one column of Laguna
#: sites was short of wires at a third of all: half leaves the placer a choice of columns.
SLL_FILL = 50

#: The whole part: a package has no Vitis platform, which would keep a column of clock regions.
#: Sums over AutoBridge's table of clock regions; percentages in reports of routed designs agree.
U280 = Device(
    name="u280",
    part="xcu280-fsvh2892-2L-e",
    slrs=(
        Slr(name="SLR0", offers=of_slr(439_680, 672, 320, 2_880), shell=PCIE + HBM),
        Slr(name="SLR1", offers=of_slr(432_000, 672, 320, 3_072), shell=Resources()),
        Slr(name="SLR2", offers=of_slr(432_000, 672, 320, 3_072), shell=MAC),
    ),
    crossing_wires=SLLS * SLL_FILL // 100,
)

#: What Vitis' platform leaves to kernels, and to the logic that links them to memory: the table of
#: UG1120, "U280 Gen3x16 XDMA base_1 Platform", quoted second hand. RapidStream's table of the
#: platform's clock regions agrees within 1 %.
LEFT = (
    Resources(lut=386_000, ff=773_000, bram18=1200, uram=320, dsp=2_664),
    Resources(lut=364_000, ff=729_000, bram18=1152, uram=320, dsp=2_784),
    Resources(lut=381_000, ff=763_000, bram18=1200, uram=320, dsp=2_856),
)
U280_XDMA = replace(
    U280,
    name="xilinx_u280_gen3x16_xdma_1_202211_1",
    slrs=tuple(
        replace(slr, shell=slr.offers - left) for slr, left in zip(U280.slrs, LEFT, strict=True)
    ),
)
#: The part alone: how much of it a shell takes is not known.
U280_PART = replace(
    U280,
    name="u280's FPGA",
    slrs=tuple(replace(slr, shell=Resources()) for slr in U280.slrs),
)

DEVICES = {device.name: device for device in (U280,)}

assert {field.name for field in fields(Resources)} - {"lut", "lutram", "carry"} < set(LIMITED)


#: names of the limited kinds as people call them
TITLES = {kind: KINDS["lut" if kind == "luts" else kind] for kind in LIMITED}


def free_of(device: Device) -> dict[str, int]:
    """Return what the shell leaves of each limited kind in all SLRs together."""
    return {kind: sum(slr.free[kind] for slr in device.slrs) for kind in LIMITED}


def fits(total: Resources, device: Device) -> list[str]:
    """Return a line for each kind of which ``total`` needs more than the shell leaves."""
    lines = []
    for kind, free in free_of(device).items():
        needs = getattr(total, kind)
        if needs > free:
            lines.append(
                f"does not fit {device.name}: {TITLES[kind]} needs {needs:,}, {free:,} are free,"
                f" {needs - free:,} too many"
            )
    return lines


def crowded(total: Resources, device: Device) -> list[str]:
    """Return a line for each kind that fits, but fills the device too much to be placed easily."""
    lines = []
    for kind in LIMITED:
        offers, needs = getattr(device.offers, kind), getattr(total, kind)
        filled = needs + getattr(device.shell, kind)
        if filled * 100 > FILL[kind] * offers and needs <= free_of(device)[kind]:
            lines.append(
                f"{TITLES[kind]}: {filled * 100 / offers:.0f} % of {device.name} with the shell;"
                f" beyond {FILL[kind]} % placement is hard"
            )
    return lines
