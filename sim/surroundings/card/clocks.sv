// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// Clocks of a simulated card.

// A clock of PERIOD ps while `on`.
module card_clock #(
    parameter real PERIOD = 4000.0
) (
    input logic on,
    output logic clk
);
  initial clk = 0;
  always begin
    wait (on);
    #(PERIOD / 2) clk = ~clk;
  end
endmodule

// A clock generator (Si546) that is `on` from the start: what it gives is wrong for SETTLE_PS.
module card_oscillator #(
    parameter int SETTLE_PS = 1_000_000
) (
    input logic right, wrong, on,
    output logic clk
);
  logic settled = 0;
  initial #(SETTLE_PS) settled = 1;
  assign clk = on & (settled ? right : wrong);
endmodule

// Whether `clk` runs at MHZ, within a percent, since a while.
module card_clock_check #(
    parameter real MHZ = 100.0
) (
    input logic clk,
    output logic good
);
  localparam int EDGES = 16;
  int edges = 0;
  realtime first, period;
  initial good = 0;
  always @(posedge clk)
    if (!good) begin
      if (edges == 0) first = $realtime;
      edges <= edges == EDGES ? 0 : edges + 1;
      period = ($realtime - first) / EDGES;
      if (edges == EDGES) good <= period * MHZ > 0.99e6 && period * MHZ < 1.01e6;
    end
endmodule

// The Clocking Wizard (PG065): outputs run when `locked` rises, a while after the input runs and
// `reset` is over.
module card_clocks #(
    parameter real IN_MHZ = 100.0,
    parameter real OUT1_MHZ = 450.0,
    parameter real OUT2_MHZ = 100.0
) (
    input logic clk_in1_p, clk_in1_n, reset,
    output logic clk_out1, clk_out2, locked
);
  logic good;
  card_clock_check #(.MHZ(IN_MHZ)) check (.clk(clk_in1_p & ~clk_in1_n), .good);
  card_clock #(.PERIOD(1.0e6 / OUT1_MHZ)) clock_1 (.on(good & ~reset), .clk(clk_out1));
  card_clock #(.PERIOD(1.0e6 / OUT2_MHZ)) clock_2 (.on(good & ~reset), .clk(clk_out2));
  initial begin
    locked = 0;
    wait (good & ~reset);
    #200_000 locked = 1;
  end
endmodule

// The buffer of a transceiver's reference clock with REFCLK_HROW_CK_SEL = 0 (UG578): ODIV2 is O.
module IBUFDS_GTE4 (
    input logic I, IB, CEB,
    output logic O, ODIV2
);
  assign O = I & ~IB & ~CEB;
  assign ODIV2 = O;
endmodule
