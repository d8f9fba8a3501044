// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// Priority flow control of the 100G Ethernet subsystem, as PG203 describes it ("TX Pause Generation",
// "RX Pause Termination"). Frames are those of IEEE 802.3, annex 31D: group address 01-80-C2-00-00-01,
// type 8808, opcode 0101, the vector of priorities, the quanta of each. A quantum is 5.12 ns.

package pfc;
  // Of the priorities in `due`, each with its quanta, or 0 where it no longer `asks`; bit 8 is all.
  function automatic logic [511:0] frame(logic [8:0] due, logic [8:0] asks, logic [8:0][15:0] quanta);
    logic [59:0][7:0] b = '0;
    {b[0], b[1], b[2], b[3], b[4], b[5]} = 48'h0180C2000001;
    {b[12], b[13], b[14], b[15]} = due[8] ? 32'h88080001 : 32'h88080101;
    if (due[8]) {b[16], b[17]} = asks[8] ? quanta[8] : '0;
    else begin
      b[17] = due[7:0];
      for (int k = 0; k < 8; k++) {b[18+2*k], b[19+2*k]} = asks[k] ? quanta[k] : '0;
    end
    return 512'(b);
  endfunction
endpackage

// A request makes a frame, which leaves behind the packet in progress; while it stays, the refresh
// timer makes another. All requests share a frame. Where a request falls, a frame with quanta 0 says
// so: PG203 does not tell, those who have run it do. With `+no_xon` none does.
module card_pause_sender #(
    parameter real PERIOD = 3103.0
) (
    input logic clk, reset, resend,
    input logic [8:0] request, enable,
    input logic [8:0][15:0] quanta, refresh,
    output logic wanted,
    input logic taken,
    output logic [511:0] frame
);
  localparam int STEADY = 16;
  bit xon;
  initial xon = !$test$plusargs("no_xon");
  logic [8:0] was = '0, asked = '0, due = '0;
  int steady[9];
  real left[9];
  wire [8:0] asks = request & enable;
  assign wanted = |due;
  int unsigned frames  /* verilator public_flat_rd */ = 0;

  assign frame = pfc::frame(due, asks, quanta);

  always @(posedge clk) begin
    was <= request;
    for (int k = 0; k < 9; k++) begin
      if (request[k] != was[k]) begin
        if (steady[k] < STEADY && !reset) $fatal(1, "%m: request %0d stays only %0d cycles", k, steady[k]);
        steady[k] = 0;
      end
      steady[k] = steady[k] + 1;
    end
    if (request[8] && request[7:0] != 0) $fatal(1, "%m: global and priority pause at a time");
    asked <= asks;
    if (reset) begin
      {due, asked} <= '0;
    end else begin
      automatic logic late = resend;
      automatic logic [8:0] now = taken ? '0 : due;
      for (int k = 0; k < 9; k++) begin
        if (taken && asks[k] && due[k]) left[k] = real'(refresh[k]) * 5120.0;
        if (asked[k] && asks[k]) begin
          left[k] = left[k] - PERIOD;
          late = late | left[k] <= 0;
        end
        if (asks[k] & ~asked[k]) begin
          now[k] = 1;
          late = 1;
        end
        if (~asks[k] & asked[k] & xon) now[k] = 1;
      end
      due <= late ? now | asks : now;
      if (taken) frames <= frames + 1;
    end
  end
endmodule

// A frame that the checks find to be priority control goes no further; one that is a priority pause
// loads the timer of each of its priorities that is enabled and raises `request`. With CHECK_ACK the
// timer waits for `ack`, then counts; at zero `request` falls, and `ack` must fall within 32 cycles.
// A further frame loads the timer anew.
module card_pause_receiver #(
    parameter bit CHECK_ACK = 1,
    parameter real PERIOD = 3103.0
) (
    input logic clk, reset, sender_reset,
    input logic comes,  // a beat that is a packet of its own
    input logic [511:0] data,
    input logic enable_pcp, check_etype_pcp, check_mcast_pcp,
    input logic enable_ppp, check_etype_ppp, check_mcast_ppp, check_opcode_ppp,
    input logic [8:0] enable, ack,
    output logic control,
    output logic [8:0] request
);
  localparam int MOST = 32;
  typedef enum {IDLE, ASKS, COUNTS, ENDS} state_t;
  state_t state[9];
  real left[9];
  int waited[9];
  logic [8:0] again = '0;  // a frame came while the one was had not ended
  wire [63:0][7:0] b = data;
  wire group = {b[0], b[1], b[2], b[3], b[4], b[5]} == 48'h0180C2000001;
  wire typed = {b[12], b[13]} == 16'h8808;
  wire priorities = {b[14], b[15]} == 16'h0101;
  assign control = comes & enable_pcp & (group | ~check_mcast_pcp) & (typed | ~check_etype_pcp);
  wire pause = control & enable_ppp & (group | ~check_mcast_ppp) & (typed | ~check_etype_ppp)
      & (priorities | ~check_opcode_ppp);
  int unsigned frames  /* verilator public_flat_rd */ = 0;

  always @(posedge clk)
    if (reset) begin
      request <= '0;
      again <= '0;
      for (int k = 0; k < 9; k++) state[k] = IDLE;
    end else begin
      frames <= frames + pause;
      for (int k = 0; k < 9; k++) begin
        automatic logic hit = k < 8 && pause && b[17][k] && enable[k];
        if (hit) left[k] = 5120.0 * {b[18+2*k], b[19+2*k]};
        case (state[k])
          IDLE:
          if (hit | again[k]) begin
            if (ack[k]) $fatal(1, "%m: class %0d is acknowledged was it is asked for", k);
            request[k] <= 1;
            again[k] <= 0;
            state[k] = CHECK_ACK ? ASKS : COUNTS;
          end
          ASKS: if (ack[k]) state[k] = COUNTS;
          COUNTS: begin
            if (CHECK_ACK && !ack[k] && !sender_reset) $fatal(1, "%m: class %0d goes on while it is paused", k);
            if (left[k] <= 0) begin
              request[k] <= 0;
              state[k] = ENDS;
              waited[k] = 0;
            end
            if (!hit) left[k] = left[k] - PERIOD;
          end
          ENDS: begin
            again[k] <= again[k] | hit;
            waited[k] = waited[k] + 1;
            if (waited[k] == MOST && CHECK_ACK) $fatal(1, "%m: class %0d still acknowledged", k);
            if (!ack[k] || !CHECK_ACK) state[k] = IDLE;
          end
        endcase
      end
    end
endmodule
