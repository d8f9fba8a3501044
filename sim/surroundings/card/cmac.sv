// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// What leaves the transceivers of a simulation: beats on their way, by the code that each transmitter
// puts on its four lanes, which tells a receiver whom it hears.
package fibre;
  typedef struct packed {
    logic [511:0] data;
    logic [63:0] keep;
    logic last;
    logic bad;
    longint due;
  } beat_t;
  beat_t way[16][$];
  bit rsfec[16];
  int transmitters = 0;
endpackage

// The 100G Ethernet subsystem with AXI4-Stream (PG203) and a transceiver.
//
// Its clock runs when the reference does; its resets end a while after `sys_reset`, `init_clk` being
// what the GT wizard needs. `stat_rx_aligned` comes when a far end with the same error correction has
// been heard for a while. With `ctl_tx_enable` low only idles are sent. A packet on
// `tx_axis` comes without a gap and has at least 60 bytes, to which the subsystem adds the checksum;
// `tx_axis_tready` keeps it at 100 Gb/s. What is received cannot be held up; it may have gaps, and a
// packet that was damaged on the way has `tuser` with its last beat.
module card_cmac #(
    parameter real REFERENCE_MHZ = 161.1328125,
    parameter real INIT_MHZ = 100.0,
    parameter int FIBRE_PS = 20_000
) (
    input logic gt_ref_clk_p, gt_ref_clk_n,
    input logic [3:0] gt_rxp_in, gt_rxn_in,
    output logic [3:0] gt_txp_out, gt_txn_out,
    input logic init_clk, sys_reset,
    output logic gt_txusrclk2,
    input logic rx_clk,
    output logic usr_tx_reset, usr_rx_reset, stat_rx_aligned,
    input logic ctl_tx_enable, ctl_tx_send_rfi,
    input logic [11:0] gt_loopback_in,
    input logic gtwiz_reset_tx_datapath, gtwiz_reset_rx_datapath,
    input logic ctl_rx_enable, ctl_rx_force_resync, ctl_rx_test_pattern, core_rx_reset,
    input logic ctl_rsfec_ieee_error_indication_mode,
    input logic ctl_tx_rsfec_enable, ctl_rx_rsfec_enable,
    input logic ctl_rx_rsfec_enable_correction, ctl_rx_rsfec_enable_indication,
    input logic ctl_tx_test_pattern, ctl_tx_send_idle, ctl_tx_send_lfi, core_tx_reset,
    input logic [55:0] tx_preamblein,
    input logic core_drp_reset, drp_clk,
    input logic [9:0] drp_addr,
    input logic [15:0] drp_di,
    input logic drp_en, drp_we,
    input logic [511:0] tx_axis_tdata,
    input logic [63:0] tx_axis_tkeep,
    input logic tx_axis_tlast, tx_axis_tuser, tx_axis_tvalid,
    output logic tx_axis_tready,
    output logic [511:0] rx_axis_tdata,
    output logic [63:0] rx_axis_tkeep,
    output logic rx_axis_tlast, rx_axis_tuser, rx_axis_tvalid
);
  import fibre::*;
  localparam real PERIOD = 1.0e6 / (2.0 * REFERENCE_MHZ);
  localparam int SETTLE = 64;
  localparam int AROUND = 24;  // bytes of preamble, checksum and gap

  logic [3:0] code;
  logic reference, init_good, up;
  int settled = 0;
  logic corrupt  /* verilator public_flat_rw */ = 0;  // damage the next packet that is received
  logic dark  /* verilator public_flat_rw */ = 0;  // nothing comes from the far end
  int unsigned sent  /* verilator public_flat_rd */ = 0;
  int unsigned received  /* verilator public_flat_rd */ = 0;

  initial begin
    transmitters = transmitters + 1;
    code = 4'(transmitters);
  end

  card_clock_check #(.MHZ(REFERENCE_MHZ)) reference_check (
      .clk(gt_ref_clk_p & ~gt_ref_clk_n), .good(reference));
  card_clock_check #(.MHZ(INIT_MHZ)) init_check (.clk(init_clk), .good(init_good));
  card_clock #(.PERIOD(PERIOD)) clock (.on(reference), .clk(gt_txusrclk2));
  always @(posedge init_clk)
    if (sys_reset || !reference || !init_good) settled <= 0;
    else if (settled < SETTLE) settled <= settled + 1;
  assign up = settled == SETTLE && !sys_reset && gt_loopback_in == 0;
  logic [3:0] tx_resets = '1, rx_resets = '1;
  always @(posedge gt_txusrclk2)
    tx_resets <= {tx_resets[2:0], ~up | gtwiz_reset_tx_datapath | core_tx_reset};
  always @(posedge rx_clk)
    rx_resets <= {rx_resets[2:0], ~up | gtwiz_reset_rx_datapath | core_rx_reset};
  assign usr_tx_reset = tx_resets[3];
  assign usr_rx_reset = rx_resets[3];

  wire plain = !ctl_tx_test_pattern && !ctl_tx_send_lfi && !gtwiz_reset_tx_datapath;
  assign gt_txp_out = up && plain ? code : '0;
  assign gt_txn_out = up && plain ? ~code : '0;
  always_comb rsfec[code] = ctl_tx_rsfec_enable;

  // Out.
  int credit = 0, octets = 0;
  logic started = 0;
  always @(posedge gt_txusrclk2)
    if (usr_tx_reset) begin
      {tx_axis_tready, started} <= '0;
      credit = 0;
    end else begin
      if (credit < 0) credit = credit + int'(PERIOD * 12.5);  // thousandths of a byte
      if (tx_axis_tvalid && tx_axis_tready) begin
        automatic int count = $countones(tx_axis_tkeep);
        if (tx_axis_tkeep != ~64'b0 >> (64 - count) || count == 0 || (!tx_axis_tlast && count != 64))
          $fatal(1, "%m: bytes are missing in a packet: %h", tx_axis_tkeep);
        octets = (started ? octets : 0) + count;
        if (tx_axis_tlast && octets < 60) $fatal(1, "%m: a packet of %0d bytes", octets);
        credit = credit - 1000 * (count + (tx_axis_tlast ? AROUND : 0));
        way[code].push_back('{tx_axis_tdata, tx_axis_tkeep, tx_axis_tlast,
                              tx_axis_tlast & tx_axis_tuser, longint'($time) + longint'(FIBRE_PS)});
        started <= !tx_axis_tlast;
        if (tx_axis_tlast) sent <= sent + 1;
      end else if (started && tx_axis_tready) $fatal(1, "%m: underflow, a packet has a gap");
      tx_axis_tready <= credit >= 0 && (ctl_tx_enable && !ctl_tx_send_rfi && !ctl_tx_send_idle ||
                                        started && !(tx_axis_tvalid && tx_axis_tready && tx_axis_tlast));
    end

  // In.
  wire [3:0] far = gt_rxp_in == ~gt_rxn_in && !dark ? gt_rxp_in : '0;
  wire understood = far != 0 && ctl_rx_enable && !ctl_rx_force_resync && !ctl_rx_test_pattern
      && rsfec[far] == ctl_rx_rsfec_enable;
  int heard = 0;
  logic damaged = 0;
  assign stat_rx_aligned = heard == SETTLE;
  always @(posedge rx_clk) begin
    rx_axis_tvalid <= 0;
    if (usr_rx_reset || !understood) heard <= 0;
    else if (heard < SETTLE) heard <= heard + 1;
    if (far != 0 && way[far].size() != 0 && way[far][0].due <= longint'($time)) begin
      automatic beat_t beat = way[far].pop_front();
      automatic logic [511:0] noise = {16{$urandom}};
      automatic logic [511:0] lanes;
      for (int k = 0; k < 64; k++) lanes[8*k+:8] = {8{beat.keep[k]}};
      rx_axis_tvalid <= stat_rx_aligned;
      rx_axis_tdata <= (beat.data & lanes) | (noise & ~lanes);
      rx_axis_tkeep <= beat.keep;
      rx_axis_tlast <= beat.last;
      rx_axis_tuser <= beat.last & (beat.bad | corrupt);
      if (corrupt) rx_axis_tdata[31:0] <= ~beat.data[31:0];
      if (beat.last && stat_rx_aligned) received <= received + 1;
      if (beat.last) corrupt <= 0;
    end
  end
endmodule
