import pytest

from gen.board.ip_table import FOLDER, read_table
from hdl.u280.pcie_block_ip import BLOCK

TABLE = read_table(FOLDER / "pcie4c_uscale_plus.toml")


def test_it_is_as_its_guide_says():
    config = dict(BLOCK.config)
    assert len(config) == len(BLOCK.config)
    assert list(TABLE.check(BLOCK, config)) == []


def test_streams_to_the_block_have_a_ready_of_four_bits():
    ports = {port.name: port for port in BLOCK.ports}
    for name, (bits, direction) in {
        "s_axis_rq": (4, "output"),
        "s_axis_cc": (4, "output"),
        "m_axis_rc": (1, "input"),
        "m_axis_cq": (1, "input"),
    }.items():
        assert (ports[f"{name}_tready"].bits, ports[f"{name}_tready"].direction) == (
            bits,
            direction,
        )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("axisten_freq", "125", "Gen3 x16 has only 512 bits at 250 MHz"),
        ("axisten_if_enable_client_tag", "false", "the requester here gives out tags itself"),
        ("extended_tag_field", "false", "the requester here gives out tags itself"),
        ("AXISTEN_IF_EXT_512_RC_4TLP_STRADDLE", "false", "completions must straddle"),
        ("AXISTEN_IF_EXT_512_RQ_STRADDLE", "true", "on RQ, CC and CQ a packet ends with tlast"),
        ("MSI_X_OPTIONS", "None", "MSI-X is enabled, and has one of its forms"),
        ("pf0_msi_enabled", "true", "the function has MSI or MSI-X"),
        ("PF0_MSIX_CAP_TABLE_SIZE", "008", "the block's own table has eight vectors"),
        ("PF0_MSIX_CAP_TABLE_BIR", "BAR_0", "the block answers for its table itself"),
        ("PF0_MSIX_CAP_PBA_OFFSET", "00000040", "an entry of the table takes 16 bytes"),
        ("PF0_MSIX_CAP_PBA_OFFSET", "00010000", "table and pending bits lie in their BAR"),
        ("pf0_bar2_64bit", "yes", "pf0_bar2_64bit cannot be yes"),
        ("PF0_DEVICE_ID", "903F", "AMD's xdma driver claims these IDs"),
    ],
)
def test_settings_that_this_hardware_cannot_live_with_are_detected(name, value, why):
    result = list(TABLE.check(BLOCK, dict(BLOCK.config) | {name: value}))
    assert any(line.startswith(f"pcie4c_block: {why}") for line in result), result


def test_ports_are_those_of_its_form_of_interrupts():
    """With the table outside, the block wants address and data, and has no one-hot vector."""
    result = list(TABLE.check(BLOCK, dict(BLOCK.config) | {"MSI_X_OPTIONS": "MSI-X_External"}))
    assert any("there is no port cfg_interrupt_msi_int unless" in line for line in result)
    assert any("input cfg_interrupt_msix_address is left open" in line for line in result)
