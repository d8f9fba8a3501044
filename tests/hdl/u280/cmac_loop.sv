// Stands for the MAC of cage 0: what is sent comes back, in the clock of the set-up.
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNDRIVEN
module cmac_0 (
  input gt_ref_clk_p, gt_ref_clk_n, input [3:0] gt_rxp_in, gt_rxn_in,
  output [3:0] gt_txp_out, gt_txn_out, input init_clk, sys_reset, output gt_txusrclk2,
  input rx_clk, output usr_tx_reset, usr_rx_reset, output reg stat_rx_aligned,
  output stat_rx_status, stat_rx_local_fault, stat_rx_remote_fault,
  output [19:0] stat_rx_block_lock, stat_rx_synced,
  output stat_rx_rsfec_am_lock0, stat_rx_rsfec_am_lock1, stat_rx_rsfec_am_lock2,
  output stat_rx_rsfec_am_lock3, stat_rx_rsfec_lane_alignment_status, stat_rx_rsfec_hi_ser,
  output stat_rx_rsfec_corrected_cw_inc, stat_rx_rsfec_uncorrected_cw_inc, tx_unfout, tx_ovfout,
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
  output reg rx_axis_tlast, rx_axis_tuser, rx_axis_tvalid,
  input [8:0] ctl_tx_pause_req, ctl_tx_pause_enable, ctl_rx_pause_ack, ctl_rx_pause_enable,
  output [8:0] stat_rx_pause_req,
  input ctl_tx_resend_pause,
  input ctl_rx_enable_gcp, ctl_rx_check_etype_gcp, ctl_rx_check_mcast_gcp,
  input ctl_rx_check_ucast_gcp, ctl_rx_check_sa_gcp, ctl_rx_check_opcode_gcp,
  input ctl_rx_enable_pcp, ctl_rx_check_etype_pcp, ctl_rx_check_mcast_pcp,
  input ctl_rx_check_ucast_pcp, ctl_rx_check_sa_pcp, ctl_rx_check_opcode_pcp,
  input ctl_rx_enable_gpp, ctl_rx_check_etype_gpp, ctl_rx_check_mcast_gpp,
  input ctl_rx_check_ucast_gpp, ctl_rx_check_sa_gpp, ctl_rx_check_opcode_gpp,
  input ctl_rx_enable_ppp, ctl_rx_check_etype_ppp, ctl_rx_check_mcast_ppp,
  input ctl_rx_check_ucast_ppp, ctl_rx_check_sa_ppp, ctl_rx_check_opcode_ppp,
  input [15:0] ctl_tx_pause_quanta0, ctl_tx_pause_quanta1, ctl_tx_pause_quanta2,
  input [15:0] ctl_tx_pause_quanta3, ctl_tx_pause_quanta4, ctl_tx_pause_quanta5,
  input [15:0] ctl_tx_pause_quanta6, ctl_tx_pause_quanta7, ctl_tx_pause_quanta8,
  input [15:0] ctl_tx_pause_refresh_timer0, ctl_tx_pause_refresh_timer1, ctl_tx_pause_refresh_timer2,
  input [15:0] ctl_tx_pause_refresh_timer3, ctl_tx_pause_refresh_timer4, ctl_tx_pause_refresh_timer5,
  input [15:0] ctl_tx_pause_refresh_timer6, ctl_tx_pause_refresh_timer7, ctl_tx_pause_refresh_timer8
);
  logic [8:0] paused /* verilator public_flat_rw */ = 0;  // what the far end has paused
  logic [8:0] pausing /* verilator public_flat_rd */;
  logic [8:0] acknowledged /* verilator public_flat_rd */;
  logic [11:0] loopback /* verilator public_flat_rd */;
  logic [43:0] missing /* verilator public_flat_rw */ = 0;  // locks: RS-FEC's, synced, blocks
  assign stat_rx_pause_req = paused;
  assign pausing = ctl_tx_pause_req;
  assign acknowledged = ctl_rx_pause_ack;
  assign loopback = gt_loopback_in;
  logic [3:0] rsfec /* verilator public_flat_rd */;
  assign rsfec = {ctl_tx_rsfec_enable, ctl_rx_rsfec_enable, ctl_rx_rsfec_enable_correction,
                  ctl_rx_rsfec_enable_indication};
  logic remote /* verilator public_flat_rw */ = 0;
  logic lost /* verilator public_flat_rw */ = 0;
  logic [1:0] mishap /* verilator public_flat_rw */ = 0;
  logic [2:0] words /* verilator public_flat_rw */ = 0;  // codewords, for as long as they are set
  // resets, beats that are received and whether they are last ones, packets to be sent that end
  logic [4:0] books /* verilator public_flat_rd */;
  assign books = {usr_rx_reset, usr_tx_reset, rx_axis_tlast, rx_axis_tvalid,
                  tx_axis_tvalid & tx_axis_tready & tx_axis_tlast};
  reg was_reset = 0;  // it takes beats for a cycle of its reset, and a cycle longer
  reg begun = 0;  // a packet has been sent in part
  reg [3:0] up = 0;
  assign gt_txusrclk2 = init_clk;
  assign usr_tx_reset = sys_reset | gtwiz_reset_tx_datapath | core_tx_reset;
  assign usr_rx_reset = sys_reset | gtwiz_reset_rx_datapath;
  assign stat_rx_status = stat_rx_aligned;
  assign stat_rx_local_fault = !stat_rx_aligned;
  assign stat_rx_remote_fault = remote;
  assign stat_rx_block_lock = {20{stat_rx_aligned}} & ~missing[19:0];
  assign stat_rx_synced = {20{stat_rx_aligned}} & ~missing[39:20];
  assign stat_rx_rsfec_lane_alignment_status = stat_rx_aligned & ctl_rx_rsfec_enable;
  assign {stat_rx_rsfec_am_lock3, stat_rx_rsfec_am_lock2, stat_rx_rsfec_am_lock1,
          stat_rx_rsfec_am_lock0} = {4{stat_rx_rsfec_lane_alignment_status}} & ~missing[43:40];
  assign {stat_rx_rsfec_hi_ser, stat_rx_rsfec_uncorrected_cw_inc, stat_rx_rsfec_corrected_cw_inc}
      = words;
  assign {tx_ovfout, tx_unfout} = mishap;
  assign gt_txp_out = gt_rxp_in ^ {4{gt_ref_clk_p}};  // no more than that all pins are wired
  assign gt_txn_out = gt_rxn_in ^ {4{gt_ref_clk_n}};
  always @(posedge rx_clk) begin
    up <= usr_rx_reset | lost ? 0 : up + (up != 15);
    stat_rx_aligned <= up == 15;
    was_reset <= usr_tx_reset;
    tx_axis_tready <= ctl_tx_enable & ~ctl_tx_send_rfi & ~was_reset;
    rx_axis_tvalid <= tx_axis_tvalid & tx_axis_tready & ~usr_rx_reset;
    rx_axis_tdata <= tx_axis_tdata;
    rx_axis_tkeep <= tx_axis_tkeep;
    rx_axis_tlast <= tx_axis_tlast;
    rx_axis_tuser <= tx_axis_tlast & tx_axis_tdata[511];  // broken if the last bit is set
    if (tx_axis_tvalid & tx_axis_tready) begun <= ~tx_axis_tlast;
    if (usr_tx_reset) begin  // the far end hears an error
      begun <= 0;
      rx_axis_tvalid <= begun & ~usr_rx_reset;
      {rx_axis_tlast, rx_axis_tuser} <= 3;
    end
  end
endmodule
