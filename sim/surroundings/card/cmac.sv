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
  bit remote_fault[16];  // what it sends instead of packets: the far end is not heard
  int transmitters = 0;

  // One way, with the MACs' own delays: `+fibre_ps`.
  function automatic longint fibre_ps();
    fibre_ps = 20_000;
    void'($value$plusargs("fibre_ps=%d", fibre_ps));
  endfunction
endpackage

// The 100G Ethernet subsystem with AXI4-Stream (PG203) and a transceiver.
//
// The transmitter's PLL locks when `sys_reset` ends, and not later: if the reference does not run
// at its frequency by then, there is no clock. Under `sys_reset` and `gtwiz_reset_tx_datapath`
// `gt_txusrclk2` stands still; both directions are in reset for a while after that. Settings of
// RS-FEC and of loopback are taken over in a reset. `stat_rx_aligned` comes when a far end with the
// same error correction has been heard for a while; a receiver that has locked onto nothing (`stuck`)
// needs a reset. With `ctl_tx_enable` low no packet begins; one that meets `ctl_tx_send_rfi` or
// `ctl_tx_send_idle`, which are sent instead of it, is spoilt. A packet on `tx_axis` comes without a
// gap and has at least 60 bytes, to which the subsystem adds the checksum; `tx_axis_tready` keeps it
// at 100 Gb/s. After an underflow or overflow nothing is sent until a reset. What is received cannot
// be held up; it may have gaps, and a packet that was damaged or cut on the way has `tuser` with its
// last beat. Of a packet that a reset of the receiver cuts no end comes.
// Nothing stops the transmitter when a pause comes: who drives it has to (pfc.sv).
module card_cmac #(
    parameter real REFERENCE_MHZ = 161.1328125,
    parameter real INIT_MHZ = 100.0,
    parameter bit CHECK_ACK = 1
) (
    input logic gt_ref_clk_p, gt_ref_clk_n,
    input logic [3:0] gt_rxp_in, gt_rxn_in,
    output logic [3:0] gt_txp_out, gt_txn_out,
    input logic init_clk, sys_reset,
    output logic gt_txusrclk2,
    input logic rx_clk,
    output logic usr_tx_reset, usr_rx_reset, stat_rx_aligned, stat_rx_status,
    output logic stat_rx_local_fault, stat_rx_remote_fault,
    output logic [19:0] stat_rx_block_lock, stat_rx_synced,
    output logic stat_rx_rsfec_am_lock0, stat_rx_rsfec_am_lock1,
    output logic stat_rx_rsfec_am_lock2, stat_rx_rsfec_am_lock3,
    output logic stat_rx_rsfec_lane_alignment_status, stat_rx_rsfec_hi_ser,
    output logic stat_rx_rsfec_corrected_cw_inc, stat_rx_rsfec_uncorrected_cw_inc,
    output logic tx_unfout, tx_ovfout,
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
    output logic rx_axis_tlast, rx_axis_tuser, rx_axis_tvalid,
    input logic [8:0] ctl_tx_pause_req, ctl_tx_pause_enable, ctl_rx_pause_ack, ctl_rx_pause_enable,
    input logic [8:0][15:0] ctl_tx_pause_quanta, ctl_tx_pause_refresh_timer,
    input logic ctl_tx_resend_pause,
    input logic ctl_rx_enable_pcp, ctl_rx_check_etype_pcp, ctl_rx_check_mcast_pcp,
    input logic ctl_rx_enable_ppp, ctl_rx_check_etype_ppp, ctl_rx_check_mcast_ppp, ctl_rx_check_opcode_ppp,
    output logic [8:0] stat_rx_pause_req
);
  import fibre::*;
  localparam real PERIOD = 1.0e6 / (2.0 * REFERENCE_MHZ);
  localparam int SETTLE = 64;
  localparam int PULSE = 50;  // cycles of init_clk, of a reset
  localparam int MAX_CREDIT = 64_000;  // a beat comes a cycle behind its tready
  localparam int AROUND = 24;  // bytes of preamble, checksum and gap

  logic [3:0] code;
  longint path_ps;
  logic reference, init_good;
  logic corrupt  /* verilator public_flat_rw */ = 0;  // damage the next packet that is received
  logic dark  /* verilator public_flat_rw */ = 0;  // nothing comes from the far end
  logic stuck  /* verilator public_flat_rw */ = 0;  // the receiver has locked onto nothing
  logic starve  /* verilator public_flat_rw */ = 0;  // underflow in the next packet that is sent
  logic overrun  /* verilator public_flat_rw */ = 0;  // overflow, likewise
  logic [19:0] unlocked  /* verilator public_flat_rw */ = 0;  // lanes that find no blocks
  logic [19:0] unsynced  /* verilator public_flat_rw */ = 0;  // lanes that find no markers
  int unsigned corrections  /* verilator public_flat_rw */ = 0;  // codewords to come
  int unsigned failures  /* verilator public_flat_rw */ = 0;
  int unsigned windows  /* verilator public_flat_rw */ = 0;  // with many errors
  int unsigned whole_resets  /* verilator public_flat_rd */ = 0;
  int unsigned tx_datapath_resets  /* verilator public_flat_rd */ = 0;
  int unsigned rx_datapath_resets  /* verilator public_flat_rd */ = 0;
  int unsigned sent  /* verilator public_flat_rd */ = 0;
  int unsigned received  /* verilator public_flat_rd */ = 0;

  initial begin
    transmitters = transmitters + 1;
    code = 4'(transmitters);
    path_ps = fibre_ps();
  end

  // Resets.
  card_clock_check #(.MHZ(REFERENCE_MHZ)) reference_check (
      .clk(gt_ref_clk_p & ~gt_ref_clk_n), .good(reference));
  card_clock_check #(.MHZ(INIT_MHZ)) init_check (.clk(init_clk), .good(init_good));
  logic dead = 0;
  always @(posedge sys_reset) whole_resets <= whole_resets + 1;
  always @(negedge sys_reset) dead <= !reference;
  wire runs = reference && !dead && !sys_reset;
  card_clock #(.PERIOD(PERIOD)) clock (.on(runs && !gtwiz_reset_tx_datapath), .clk(gt_txusrclk2));
  int tx_settled = 0, rx_settled = 0, tx_pulse = 0, rx_pulse = 0;
  wire tx_up = tx_settled == SETTLE && runs, rx_up = rx_settled == SETTLE && runs;
  logic [3:0] tx_resets = '1, rx_resets = '1;
  always @(posedge init_clk) begin
    if (!runs || !init_good || gtwiz_reset_tx_datapath) tx_settled <= 0;
    else if (tx_settled < SETTLE) tx_settled <= tx_settled + 1;
    if (!runs || !init_good || gtwiz_reset_rx_datapath) rx_settled <= 0;
    else if (rx_settled < SETTLE) rx_settled <= rx_settled + 1;
    if (tx_pulse == 1) tx_datapath_resets <= tx_datapath_resets + 1;
    if (rx_pulse == 1) rx_datapath_resets <= rx_datapath_resets + 1;
    tx_pulse <= gtwiz_reset_tx_datapath ? tx_pulse + 1 : 0;
    rx_pulse <= gtwiz_reset_rx_datapath ? rx_pulse + 1 : 0;
    if (!gtwiz_reset_tx_datapath && tx_pulse inside {[1 : PULSE-1]} ||
        !gtwiz_reset_rx_datapath && rx_pulse inside {[1 : PULSE-1]})
      $fatal(1, "%m: a reset of %0d or %0d cycles", tx_pulse, rx_pulse);
    if (sys_reset || gtwiz_reset_rx_datapath) stuck <= 0;
  end
  always @(posedge gt_txusrclk2) tx_resets <= {tx_resets[2:0], ~tx_up | core_tx_reset};
  always @(posedge rx_clk) rx_resets <= {rx_resets[2:0], ~rx_up | core_rx_reset};
  assign usr_tx_reset = tx_resets[3];
  assign usr_rx_reset = rx_resets[3];

  wire sends = tx_up && !usr_tx_reset && !ctl_tx_test_pattern && !ctl_tx_send_lfi;
  assign gt_txp_out = sends ? code : '0;
  assign gt_txn_out = sends ? ~code : '0;

  // Out.
  logic [2:0] loopback  /* verilator public_flat_rd */ = 0;
  beat_t own[$];  // what comes back in it
  int credit = 0, octets = 0, told = 0;
  logic started = 0, broken = 0, spoilt = 0, wire_free = 0;

  // Pauses (pfc.sv). The frame leaves behind the packet in progress, before the next.
  logic pause_required, pause_leaves, control;
  logic [511:0] pause_frame;
  card_pause_sender #(.PERIOD(PERIOD)) pauses (
      .clk(gt_txusrclk2), .reset(usr_tx_reset), .resend(ctl_tx_resend_pause),
      .request(ctl_tx_pause_req), .enable(ctl_tx_pause_enable), .quanta(ctl_tx_pause_quanta),
      .refresh(ctl_tx_pause_refresh_timer), .wanted(pause_required), .taken(pause_leaves),
      .frame(pause_frame));
  assign pause_leaves = pause_required && !started && !tx_axis_tready && wire_free && ctl_tx_enable
      && !broken;

  function automatic void send(beat_t beat);
    way[code].push_back(beat);
    if (loopback != 0) own.push_back(beat);
  endfunction
  always @(posedge gt_txusrclk2) begin
    {tx_unfout, tx_ovfout} <= '0;
    remote_fault[code] = ctl_tx_send_rfi;
    told = ctl_tx_send_rfi || stat_rx_remote_fault ? told + 1 : 0;
    if (ctl_tx_send_rfi && ctl_tx_send_idle) $fatal(1, "%m: what is to be sent?");
    if (usr_tx_reset) begin
      if (started) send('{'0, 64'b1, 1'b1, 1'b1, longint'($time) + path_ps});
      {tx_axis_tready, started, broken, wire_free} <= '0;
      rsfec[code] = ctl_tx_rsfec_enable;
      credit = 0;
    end else begin
      credit = credit + int'(PERIOD * 12.5);  // thousandths of a byte
      if (credit > MAX_CREDIT) credit = MAX_CREDIT;
      if (tx_axis_tvalid && tx_axis_tready) begin
        automatic int count = $countones(tx_axis_tkeep);
        if (tx_axis_tkeep != ~64'b0 >> (64 - count) || count == 0 || (!tx_axis_tlast && count != 64))
          $fatal(1, "%m: bytes are missing in a packet: %h", tx_axis_tkeep);
        if (!started && told > SETTLE) $fatal(1, "%m: a packet is sent to who does not hear it");
        octets = (started ? octets : 0) + count;
        if (tx_axis_tlast && octets < 60) $fatal(1, "%m: a packet of %0d bytes", octets);
        credit = credit - 1000 * (count + (tx_axis_tlast ? AROUND : 0));
        if (ctl_tx_send_rfi || ctl_tx_send_idle) spoilt = 1;
        send('{tx_axis_tdata, tx_axis_tkeep, tx_axis_tlast, tx_axis_tlast & (tx_axis_tuser | spoilt),
               longint'($time) + path_ps});
        if (tx_axis_tlast) spoilt = 0;
        started <= !tx_axis_tlast;
        if (tx_axis_tlast) sent <= sent + 1;
        {tx_unfout, tx_ovfout} <= {starve, overrun};
        if (starve || overrun) broken <= 1;
        {starve, overrun} <= '0;
      end else if (started && tx_axis_tready) $fatal(1, "%m: underflow, a packet has a gap");
      if (pause_leaves) begin
        credit = credit - 1000 * (60 + AROUND);
        send('{pause_frame, 64'hFFF_FFFF_FFFF_FFFF, 1'b1, ctl_tx_send_rfi | ctl_tx_send_idle,
               longint'($time) + path_ps});
      end
      wire_free <= credit >= 0;
      tx_axis_tready <= credit >= 0 && !broken
          && !(tx_axis_tvalid && tx_axis_tready && (starve || overrun))
          && (ctl_tx_enable && !pause_required ||
              started && !(tx_axis_tvalid && tx_axis_tready && tx_axis_tlast));
    end
  end

  // In.
  logic fec = 0;
  wire [3:0] outside = gt_rxp_in == ~gt_rxn_in && !dark ? gt_rxp_in : '0;
  wire [3:0] far = loopback != 0 ? (sends ? code : '0) : outside;
  wire understood = far != 0 && !stuck && ctl_rx_enable && !ctl_rx_force_resync
      && !ctl_rx_test_pattern && loopback == gt_loopback_in[2:0] && rsfec[far] == fec;
  int heard = 0;
  logic skips = 0, begun = 0;
  logic comes = 0, alone = 1;  // a beat; its packet begins with it
  assign rx_axis_tvalid = comes && !control;
  card_pause_receiver #(.CHECK_ACK(CHECK_ACK), .PERIOD(PERIOD)) paused (
      .clk(rx_clk), .reset(usr_rx_reset), .sender_reset(usr_tx_reset),
      .comes(comes && alone && rx_axis_tlast && !rx_axis_tuser),
      .data(rx_axis_tdata), .enable_pcp(ctl_rx_enable_pcp), .check_etype_pcp(ctl_rx_check_etype_pcp),
      .check_mcast_pcp(ctl_rx_check_mcast_pcp),
      .enable_ppp(ctl_rx_enable_ppp), .check_etype_ppp(ctl_rx_check_etype_ppp),
      .check_mcast_ppp(ctl_rx_check_mcast_ppp), .check_opcode_ppp(ctl_rx_check_opcode_ppp),
      .enable(ctl_rx_pause_enable), .ack(ctl_rx_pause_ack), .control, .request(stat_rx_pause_req));
  wire some = heard == SETTLE;
  assign stat_rx_block_lock = {20{some}} & ~unlocked;
  assign stat_rx_synced = stat_rx_block_lock & ~unsynced;
  assign stat_rx_aligned = &stat_rx_synced;
  assign stat_rx_status = stat_rx_aligned;
  assign stat_rx_local_fault = !stat_rx_aligned;
  assign stat_rx_remote_fault = stat_rx_aligned && remote_fault[far];
  assign {stat_rx_rsfec_am_lock3, stat_rx_rsfec_am_lock2, stat_rx_rsfec_am_lock1,
          stat_rx_rsfec_am_lock0} = {4{some && fec}} & ~unlocked[3:0];
  assign stat_rx_rsfec_lane_alignment_status = some && fec && unlocked[3:0] == 0;
  always @(posedge rx_clk) begin
    if (gt_loopback_in != {4{gt_loopback_in[2:0]}} || gt_loopback_in[2:0] > 2)
      $fatal(1, "%m: loopback %h", gt_loopback_in);
    if (ctl_rx_rsfec_enable != ctl_rx_rsfec_enable_correction
        || ctl_rx_rsfec_enable != ctl_rx_rsfec_enable_indication)
      $fatal(1, "%m: RS-FEC is half on");
    stat_rx_rsfec_corrected_cw_inc <= corrections != 0;
    stat_rx_rsfec_uncorrected_cw_inc <= failures != 0;
    stat_rx_rsfec_hi_ser <= windows != 0;
    if (corrections != 0) corrections <= corrections - 1;
    if (failures != 0) failures <= failures - 1;
    if (windows != 0) windows <= windows - 1;
    comes <= 0;
    if (usr_rx_reset) begin
      loopback <= gt_loopback_in[2:0];
      fec <= ctl_rx_rsfec_enable;
      begun <= 0;
      if (begun) skips = 1;
    end
    if (loopback == 0) own.delete();
    else if (outside != 0) way[outside].delete();
    if (usr_rx_reset || !understood) heard <= 0;
    else if (heard < SETTLE) heard <= heard + 1;
    if (begun && !stat_rx_aligned && !usr_rx_reset) begin  // an error ends what was begun
      {comes, rx_axis_tlast, rx_axis_tuser} <= '1;
      rx_axis_tkeep <= 1;
      begun <= 0;
      skips = 1;
    end else if (loopback != 0 ? own.size() != 0 && own[0].due <= longint'($time)
                 : far != 0 && way[far].size() != 0 && way[far][0].due <= longint'($time)) begin
      automatic beat_t beat = loopback != 0 ? own.pop_front() : way[far].pop_front();
      automatic logic [511:0] noise = {16{$urandom}};
      automatic logic [511:0] lanes;
      automatic logic taken = stat_rx_aligned && !usr_rx_reset && !skips;
      for (int k = 0; k < 64; k++) lanes[8*k+:8] = {8{beat.keep[k]}};
      comes <= taken;
      alone <= !begun;
      rx_axis_tdata <= (beat.data & lanes) | (noise & ~lanes);
      rx_axis_tkeep <= beat.keep;
      rx_axis_tlast <= beat.last;
      rx_axis_tuser <= beat.last & (beat.bad | corrupt);
      if (corrupt) rx_axis_tdata[31:0] <= ~beat.data[31:0];
      begun <= taken && !beat.last;
      if (beat.last && taken) received <= received + 1;
      if (beat.last) corrupt <= 0;
      skips = !taken && !beat.last;
    end
  end
endmodule
