// What a simulated memory holds: beats of a file that is named when the simulation starts.
//
// +memory_<index>=<file> names it; the first byte is the low one of the first beat. Memory of
// which nothing is said is empty. Reading takes a cycle; a beat beyond the file's end reads as
// zero and comes with `missing`. 100 MB load in about 1.5 s.
module memory_array #(
    parameter int WIDTH = 256,
    parameter int ADDRESS_BITS = 23
) (
    input logic clk,
    input logic [7:0] index,
    input logic enable,
    input logic [ADDRESS_BITS-1:0] address,
    output logic [WIDTH-1:0] data,
    output logic missing
);
  logic [WIDTH-1:0] words[];
  bit loaded = 0;
  int beat;

  function automatic void load();
    string option, path;
    int file, bytes;
    logic [WIDTH-1:0] word, turned;
    option = $sformatf("memory_%0d=%%s", index);
    if ($value$plusargs(option, path)) begin
      file = $fopen(path, "rb");
      if (file == 0) $fatal(1, "memory %0d: cannot open %s", index, path);
      void'($fseek(file, 0, 2));
      bytes = $ftell(file);
      void'($fseek(file, 0, 0));
      words = new[(bytes + WIDTH / 8 - 1) / (WIDTH / 8)];
      for (int k = 0; k < words.size(); k++) begin
        word = '0;
        if ($fread(word, file) == 0) $fatal(1, "memory %0d: cannot read %s", index, path);
        // $fread begins with the high byte; turning a variable is much faster than words[k].
        for (int bit_at = 0; bit_at < WIDTH; bit_at += 8) begin
          turned[bit_at+:8] = word[WIDTH-8-bit_at+:8];
        end
        words[k] = turned;
      end
      $fclose(file);
    end
  endfunction

  assign beat = 32'(address);

  always_ff @(posedge clk) begin
    if (!loaded) begin
      load();  // not at time zero, when the index may not have arrived
      loaded <= 1;
    end
    if (enable) begin
      missing <= beat >= words.size();
      data <= beat < words.size() ? words[beat] : '0;
    end
  end
endmodule
