// A MAC with flow control between its neighbours: cores that take little, and a far end that sends all
// it may. `incast_mac` and `incast_path` stand for the emitted modules (incast.py).
// verilator lint_off PINCONNECTEMPTY
// verilator lint_off WAITCONST
module incast;
  localparam int EVENTS = 10;
  logic clk, apb, reference;
  logic rst = 1, on;
  logic [3:0] near_p, near_n, far_p, far_n;
  logic [576:0] source[2], out[2], in[2], sink[2];
  logic [1:0] source_valid, source_ready, out_valid, out_ready, in_valid, in_ready;
  logic [1:0] sink_valid, sink_ready;
  logic [7:0] more[EVENTS];
  int unsigned counted[EVENTS]  /* verilator public_flat_rd */;  // what the MAC's counters add up to
  int unsigned peak[2]  /* verilator public_flat_rd */;  // most beats in a class's buffer

  initial on = 1;
  initial #200_000 rst = 0;
  card_clock #(.PERIOD(4000.0)) core_clock (.on, .clk(clk));
  card_clock #(.PERIOD(10000.0)) apb_clock (.on, .clk(apb));
  card_clock #(.PERIOD(6206.060606)) reference_clock (.on, .clk(reference));
  card_far_end far (.rx_p(near_p), .rx_n(near_n), .tx_p(far_p), .tx_n(far_n));
  for (genvar k = 0; k < 2; k++) begin : classes
    card_core #(.KIND(k)) core (
        .clk, .rst, .o_payload(source[k]), .o_valid(source_valid[k]), .o_ready(source_ready[k]),
        .i_payload(sink[k]), .i_valid(sink_valid[k]), .i_ready(sink_ready[k]));
    incast_path to_mac (
        .clk, .rst, .empty(), .i_payload(source[k]), .i_valid(source_valid[k]),
        .i_ready(source_ready[k]), .o_payload(out[k]), .o_valid(out_valid[k]), .o_ready(out_ready[k]));
    incast_path of_mac (
        .clk, .rst, .empty(), .i_payload(in[k]), .i_valid(in_valid[k]), .i_ready(in_ready[k]),
        .o_payload(sink[k]), .o_valid(sink_valid[k]), .o_ready(sink_ready[k]));
  end
  incast_mac mac (
      .clk, .rst, .apb_clk(apb), .apb_rst(rst), .refclk_p(reference), .refclk_n(~reference),
      .rx_p(far_p), .rx_n(far_n), .tx_p(near_p), .tx_n(near_n),
      .settings(3'd1), .demands('0), .levels(), .cuts(),
      .transmit_0_tdata(out[0][511:0]), .transmit_0_tkeep(out[0][575:512]),
      .transmit_0_tlast(out[0][576]), .transmit_0_tuser(1'b0), .transmit_0_tvalid(out_valid[0]),
      .transmit_0_tready(out_ready[0]),
      .transmit_1_tdata(out[1][511:0]), .transmit_1_tkeep(out[1][575:512]),
      .transmit_1_tlast(out[1][576]), .transmit_1_tuser(1'b0), .transmit_1_tvalid(out_valid[1]),
      .transmit_1_tready(out_ready[1]),
      .receive_0_tdata(in[0][511:0]), .receive_0_tkeep(in[0][575:512]), .receive_0_tlast(in[0][576]),
      .receive_0_tuser(), .receive_0_tvalid(in_valid[0]), .receive_0_tready(in_ready[0]),
      .receive_1_tdata(in[1][511:0]), .receive_1_tkeep(in[1][575:512]), .receive_1_tlast(in[1][576]),
      .receive_1_tuser(), .receive_1_tvalid(in_valid[1]), .receive_1_tready(in_ready[1]),
      .counts_0(more[0]), .counts_1(more[1]), .counts_2(more[2]), .counts_3(more[3]),
      .counts_4(more[4]), .counts_5(more[5]), .counts_6(more[6]), .counts_7(more[7]),
      .counts_8(more[8]), .counts_9(more[9]));
  always @(posedge clk)
    for (int k = 0; k < EVENTS; k++) counted[k] <= rst ? 0 : counted[k] + 32'(more[k]);
  always @(posedge mac.cmac.rx_clk) begin
    if (32'(mac.receiver_0.used) > peak[0]) peak[0] <= 32'(mac.receiver_0.used);
    if (32'(mac.receiver_1.used) > peak[1]) peak[1] <= 32'(mac.receiver_1.used);
  end
endmodule
