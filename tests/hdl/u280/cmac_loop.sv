// Stands for the MAC of cage 0: what is sent comes back, in the clock of the set-up.
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNDRIVEN
module cmac_0 (
  input gt_ref_clk_p, gt_ref_clk_n, input [3:0] gt_rxp_in, gt_rxn_in,
  output [3:0] gt_txp_out, gt_txn_out, input init_clk, sys_reset, output gt_txusrclk2,
  input rx_clk, output usr_tx_reset, usr_rx_reset, output reg stat_rx_aligned,
  input ctl_tx_enable, ctl_tx_send_rfi,
  input [11:0] gt_loopback_in, input gtwiz_reset_tx_datapath, gtwiz_reset_rx_datapath,
  input ctl_rx_enable, ctl_rx_force_resync, ctl_rx_test_pattern, core_rx_reset,
  input ctl_rsfec_ieee_error_indication_mode, ctl_tx_rsfec_enable, ctl_rx_rsfec_enable,
  input ctl_rx_rsfec_enable_correction, ctl_rx_rsfec_enable_indication,
  input ctl_tx_test_pattern, ctl_tx_send_idle, ctl_tx_send_lfi, core_tx_reset,
  input [55:0] tx_preamblein, input core_drp_reset, drp_clk, input [9:0] drp_addr,
  input [15:0] drp_di, input drp_en, drp_we,
  input [511:0] tx_axis_tdata, input [63:0] tx_axis_tkeep, input tx_axis_tlast, tx_axis_tuser,
  input tx_axis_tvalid, output reg tx_axis_tready,
  output reg [511:0] rx_axis_tdata, output reg [63:0] rx_axis_tkeep,
  output reg rx_axis_tlast, rx_axis_tuser, rx_axis_tvalid
);
  assign gt_txusrclk2 = init_clk;
  assign usr_tx_reset = sys_reset;
  assign usr_rx_reset = sys_reset;
  assign gt_txp_out = gt_rxp_in;
  assign gt_txn_out = gt_rxn_in;
  reg [3:0] up = 0;
  always @(posedge rx_clk) begin
    up <= sys_reset ? 0 : up + (up != 15);
    stat_rx_aligned <= up == 15;
    tx_axis_tready <= ctl_tx_enable & ~ctl_tx_send_rfi;
    rx_axis_tvalid <= tx_axis_tvalid & tx_axis_tready;
    rx_axis_tdata <= tx_axis_tdata;
    rx_axis_tkeep <= tx_axis_tkeep;
    rx_axis_tlast <= tx_axis_tlast;
    rx_axis_tuser <= tx_axis_tlast & tx_axis_tdata[511];  // broken if the last bit is set
  end
endmodule
