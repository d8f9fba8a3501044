// Writes the packets of a stream to a file, with what counters say after each beat.
//
// The simulation's argument +frame_taps=<folder> names the folder; the file has the tap's own name
// in the design. Its first word says how many bytes a beat has, and in bit 16 whether packets are
// inbound. Then each beat is written when it has moved: its cycle (two words), the counters of
// packets dropped and corrupted, tuser and tlast, tkeep (two words), and tdata.
module frame_tap #(
    parameter int BYTES = 64,
    parameter int INBOUND = 0
) (
    input logic clk,
    input logic rst,
    input logic valid,
    input logic [8*BYTES-1:0] tdata,
    input logic [BYTES-1:0] tkeep,
    input logic tlast,
    input logic tuser,
    input logic [31:0] dropped,
    input logic [31:0] corrupted
);
  int file = 0;
  logic [63:0] now = 0;
  logic moved = 0;
  logic [1:0] ends = 0;
  logic [63:0] keep = 0;
  logic [8*BYTES-1:0] data = 0;

  function automatic void open();
    string folder;
    if (!$value$plusargs("frame_taps=%s", folder)) $fatal(1, "%m: +frame_taps is missing");
    file = $fopen($sformatf("%s/%m", folder), "wb");
    if (file == 0) $fatal(1, "%m: cannot write to %s", folder);
    $fwrite(file, "%u", BYTES | INBOUND << 16);
  endfunction

  function automatic void write();
    $fwrite(file, "%u%u%u%u%u", now[31:0], now[63:32], dropped, corrupted, 32'(ends));
    $fwrite(file, "%u%u", keep[31:0], keep[63:32]);
    for (int k = 0; k < BYTES / 4; k++) $fwrite(file, "%u", data[32*k+:32]);
    if (ends[0]) $fflush(file);
  endfunction

  always_ff @(posedge clk) begin
    if (file == 0) open();
    if (moved) write();
    now <= now + 1;
    moved <= valid & ~rst;
    {ends, keep, data} <= {tuser, tlast, 64'(tkeep), tdata};
  end
endmodule
