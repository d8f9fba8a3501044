// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// Clock, reset, link and interrupts of AMD's PCI Express subsystems (PG195, "Clocking", "Interrupt
// Interface"; PG194 for bridges).
//
// `axi_aclk` runs when the reference does. `axi_aresetn` is high while the link is up, which is a
// while after `sys_rst_n` and as long as the host's lanes are there. Where `usr_irq_req` is raised a
// message goes to the host, `usr_irq_ack` says so, and the request must be held until then; the next
// message needs it to fall and to rise again.
module card_pcie #(
    parameter real REFERENCE_MHZ = 100.0,
    parameter int LANES = 16
) (
    input logic sys_clk, sys_clk_gt, sys_rst_n,
    output logic user_lnk_up,
    input logic [LANES-1:0] pci_exp_rxp, pci_exp_rxn,
    output logic [LANES-1:0] pci_exp_txp, pci_exp_txn,
    output logic axi_aclk, axi_aresetn,
    input logic usr_irq_req,
    output logic usr_irq_ack
);
  localparam int TRAIN = 100, MESSAGE = 20;
  logic fabric, transceivers;
  int trained = 0, waited = 0;
  logic told = 0;
  logic ahead  /* verilator public_flat_rd */;  // the clock that the simulation's host acts by
  logic reset  /* verilator public_flat_rd */;  // of the host's buses
  int unsigned messages  /* verilator public_flat_rd */ = 0;

  card_clock_check #(.MHZ(REFERENCE_MHZ)) fabric_check (.clk(sys_clk), .good(fabric));
  card_clock_check #(.MHZ(REFERENCE_MHZ)) check (.clk(sys_clk_gt), .good(transceivers));
  card_clock #(.PERIOD(4000.0)) clock (.on(transceivers && fabric), .clk(ahead));
  initial axi_aclk = 0;
  always @(ahead) #1 axi_aclk = ahead;
  assign user_lnk_up = trained == TRAIN;
  assign axi_aresetn = user_lnk_up;
  assign reset = ~axi_aresetn;
  assign pci_exp_txp = {LANES{user_lnk_up}};
  assign pci_exp_txn = ~pci_exp_txp;
  always @(posedge axi_aclk or negedge sys_rst_n)
    if (!sys_rst_n || pci_exp_rxp != '1 || pci_exp_rxn != '0) trained <= 0;
    else if (trained < TRAIN) trained <= trained + 1;

  initial usr_irq_ack = 0;
  always @(posedge axi_aclk) begin
    usr_irq_ack <= 0;
    if (!usr_irq_req) begin
      if (waited != 0 && !told) $fatal(1, "%m: an interrupt was taken back before it was sent");
      waited <= 0;
      told <= 0;
    end else if (axi_aresetn && !told) begin
      waited <= waited + 1;
      if (waited == MESSAGE) begin
        usr_irq_ack <= 1;
        told <= 1;
        messages <= messages + 1;
      end
    end
  end
endmodule

// Clock, reset, link and interrupts of AMD's bare block for PCI Express (PG213, "Clock and Reset
// Interface", "MSI-X Interrupt Internal Interface").
//
// The host runs `ahead`; `user_clk` follows a picosecond later while the reference runs. `user_reset`
// is high until the link is up, which is a while after `sys_reset` (active low) and as long as the
// host's lanes are there, and while the host says so. An interrupt is asked for by a cycle of
// `cfg_interrupt_msix_int` with one vector, and no other one before the block has said that it is sent.
module card_pcie_block #(
    parameter real REFERENCE_MHZ = 100.0,
    parameter int LANES = 16
) (
    input logic sys_clk, sys_clk_gt, sys_reset,
    input logic [LANES-1:0] pci_exp_rxp, pci_exp_rxn,
    output logic [LANES-1:0] pci_exp_txp, pci_exp_txn,
    output logic user_clk, user_reset,
    input logic [7:0] cfg_interrupt_msi_int,
    input logic cfg_interrupt_msix_int,
    output logic cfg_interrupt_msi_sent, cfg_interrupt_msi_fail,
    output logic [3:0] cfg_interrupt_msix_enable
);
  localparam int TRAIN = 100, MESSAGE = 20;
  logic fabric, transceivers;
  int trained = 0, waited = 0;
  logic ahead  /* verilator public_flat_rw */ = 0;
  logic reset  /* verilator public_flat_rw */ = 0;
  logic enabled  /* verilator public_flat_rw */ = 0;  // MSI-X, by the host
  int unsigned messages  /* verilator public_flat_rd */ = 0;

  card_clock_check #(.MHZ(REFERENCE_MHZ)) fabric_check (.clk(sys_clk), .good(fabric));
  card_clock_check #(.MHZ(REFERENCE_MHZ)) check (.clk(sys_clk_gt), .good(transceivers));
  initial user_clk = 0;
  always @(ahead) #1 user_clk = ahead & fabric & transceivers;
  assign user_reset = trained != TRAIN || reset;
  assign pci_exp_txp = {LANES{trained == TRAIN}};
  assign pci_exp_txn = ~pci_exp_txp;
  always @(posedge user_clk or negedge sys_reset)
    if (!sys_reset || pci_exp_rxp != '1 || pci_exp_rxn != '0) trained <= 0;
    else if (trained < TRAIN) trained <= trained + 1;

  assign cfg_interrupt_msix_enable = {3'b0, enabled};
  assign cfg_interrupt_msi_fail = 0;
  initial cfg_interrupt_msi_sent = 0;
  always @(posedge user_clk) begin
    cfg_interrupt_msi_sent <= waited == MESSAGE;
    if (waited != 0) waited <= waited == MESSAGE ? 0 : waited + 1;
    if (waited == MESSAGE) messages <= messages + 1;
    if (!user_reset && cfg_interrupt_msix_int) begin
      if (!enabled) $fatal(1, "%m: an interrupt while the host has them off");
      if (waited != 0) $fatal(1, "%m: an interrupt before the last one was sent");
      if (!$onehot(cfg_interrupt_msi_int)) $fatal(1, "%m: no vector, or several");
      waited <= 1;
    end else if (!user_reset && cfg_interrupt_msi_int != 0) $fatal(1, "%m: a vector alone");
  end
endmodule

// How many bridges a simulation has, each with a host of its own.
package card_hosts;
  int hosts = 0;
endpackage

// What a bridge's slave side wants of the bytes that a burst writes: no gap from the first to the last.
module card_write_check #(
    parameter int DATA = 512
) (
    input logic clk, valid, last,
    input logic [DATA/8-1:0] strobes
);
  logic begun = 0, ended = 0;
  always @(posedge clk)
    if (valid) begin
      automatic logic on = begun, off = ended;
      for (int k = 0; k < DATA / 8; k++) begin
        if (strobes[k] && off) $fatal(1, "%m: a gap in the bytes that a burst writes");
        if (strobes[k]) on = 1;
        else if (on) off = 1;
      end
      begun <= on & ~last;
      ended <= off & ~last;
    end
endmodule
