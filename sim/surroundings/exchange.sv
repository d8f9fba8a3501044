// An end of wires that are cut: what goes in comes out at their other end, which is in another process.
//
// See exchange.cpp. `flags` always go, `payload` only with `carries`. Both come out EPOCH + 1 cycles
// after they went in at the other end, which is as many as INGATHER_EXCHANGE says.
module exchange #(
    parameter int WORDS = 19
) (
    input logic clk,
    input logic [7:0] channel,
    input logic carries,
    input logic [6:0] flags,
    input logic [32*WORDS-1:0] payload,
    output logic carries_come,
    output logic [6:0] flags_come,
    output logic [32*WORDS-1:0] payload_come
);
  import "DPI-C" function void ingather_exchange(
    input int channel,
    input int words,
    input bit carries,
    input bit [31:0] flags,
    input bit [32*WORDS-1:0] payload,
    output bit carries_come,
    output bit [31:0] flags_come,
    output bit [32*WORDS-1:0] payload_come
  );

  bit come;
  bit [31:0] marks;
  bit [32*WORDS-1:0] words;

  always_ff @(posedge clk) begin
    ingather_exchange(32'(channel), WORDS, carries, 32'(flags), payload, come, marks, words);
    carries_come <= come;
    flags_come <= marks[6:0];
    if (come) payload_come <= words;
  end
endmodule
