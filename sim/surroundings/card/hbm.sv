// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// What the two HBM stacks of each card hold, by card and 32-byte word; written words only.
package card_stacks;
  logic [255:0] words[bit [39:0]];
  int cards = 0;
endpackage

// An AXI port's access to the words of the stacks, in the place of `axi_ram_array`: `index` is the
// card. A word that was never written reads as noise and comes with `missing`.
module hbm_array #(
    parameter int WIDTH = 256,
    parameter int ADDRESS_BITS = 28
) (
    input logic clk,
    input logic [7:0] index,
    input logic read,
    input logic [ADDRESS_BITS-1:0] read_address,
    output logic [WIDTH-1:0] read_data,
    output logic missing,
    input logic write,
    input logic [ADDRESS_BITS-1:0] write_address,
    input logic [WIDTH-1:0] write_data,
    input logic [WIDTH/8-1:0] write_enable,
    output logic lost,
    input logic dump
);
  import card_stacks::*;
  wire unused = dump;
  wire [39:0] read_key = {index, 32'(read_address)};
  wire [39:0] write_key = {index, 32'(write_address)};
  assign lost = 0;
  always @(posedge clk) begin
    if (read) begin
      missing <= words.exists(read_key) == 0;
      read_data <= words.exists(read_key) != 0 ? words[read_key] : {WIDTH / 32{$urandom}};
    end
    if (write) begin
      automatic logic [WIDTH-1:0] word = words.exists(write_key) != 0 ? words[write_key] : '0;
      for (int k = 0; k < WIDTH / 8; k++)
        if (write_enable[k]) word[8*k+:8] = write_data[8*k+:8];
      words[write_key] = word;
    end
  end
endmodule

// What the HBM subsystem has beside its ports (PG276): `complete` a while after the set-up's reset
// with its clocks at their frequencies; temperatures.
module card_stack #(
    parameter real REFERENCE_MHZ = 100.0,
    parameter real APB_MHZ = 100.0,
    parameter bit [6:0] DEGREES = 40
) (
    input logic reference, pclk, preset_n,
    output logic complete, cattrip,
    output logic [6:0] degrees
);
  localparam int SET_UP = 50;
  logic reference_good, apb_good;
  int done = 0;
  logic hot  /* verilator public_flat_rw */ = 0;
  card_clock_check #(.MHZ(REFERENCE_MHZ)) reference_check (.clk(reference), .good(reference_good));
  card_clock_check #(.MHZ(APB_MHZ)) apb_check (.clk(pclk), .good(apb_good));
  always @(posedge pclk)
    if (!preset_n) done <= 0;
    else if (reference_good && apb_good && done < SET_UP) done <= done + 1;
  assign complete = done == SET_UP;
  assign cattrip = hot;
  assign degrees = DEGREES;
endmodule
