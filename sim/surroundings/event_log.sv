// Writes events of a simulation to a file, which is read when the simulation has ended.
//
// In each cycle with `valid` it writes `words`, the lowest word first. The simulation's argument
// +event_log_<INDEX>=<file> names the file, which is complete when `ends` has risen.
module event_log #(
    parameter int INDEX = 0,
    parameter int WORDS = 4
) (
    input logic clk,
    input logic valid,
    input logic [32*WORDS-1:0] words,
    input logic ends
);
  int file = 0;
  bit ended = 0;

  function automatic void open();
    string path;
    if (!$value$plusargs($sformatf("event_log_%0d=%%s", INDEX), path))
      $fatal(1, "log %0d: no argument names its file", INDEX);
    file = $fopen(path, "wb");
    if (file == 0) $fatal(1, "log %0d: cannot write %s", INDEX, path);
  endfunction

  always_ff @(posedge clk) begin
    if (file == 0) open();
    if (valid) for (int k = 0; k < WORDS; k++) $fwrite(file, "%u", words[32*k+:32]);
    if (ends && !ended) $fflush(file);
    ended <= ends;
  end
endmodule
