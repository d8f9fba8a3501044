// What a simulated RAM holds: beats of a file, read and written, and dumped into another file.
//
// +ram_<index>=<file> names what it holds at first; the first byte is the low one of the first
// beat, and a last beat that is not whole is filled with zeros. RAM of which nothing is said is
// empty. Reading takes a cycle and gives what stood there before a write of the same cycle; a beat
// beyond the end reads as zero and comes with `missing`. A write beyond the end is lost and comes
// with `lost` a cycle later. When `dump` rises, all beats go to the file of +dump_<index>=<file>,
// which is complete after that cycle. A processor beside the bus has an access a cycle: the beat
// as it was before it, and the bytes that it writes; beyond the end there is nothing.
module axi_ram_array #(
    parameter int WIDTH = 512,
    parameter int ADDRESS_BITS = 22
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
    input logic processor,
    input logic [ADDRESS_BITS-1:0] processor_address,
    input logic [WIDTH-1:0] processor_write_data,
    input logic [WIDTH/8-1:0] processor_write_enable,
    output logic [WIDTH-1:0] processor_read_data,
    input logic dump
);
  logic [WIDTH-1:0] words[];
  bit loaded = 0;
  bit dumped = 0;
  int read_at, write_at, processor_at;

  function automatic void load();
    string option, path;
    int file, bytes;
    logic [WIDTH-1:0] word, turned;
    option = $sformatf("ram_%0d=%%s", index);
    if ($value$plusargs(option, path)) begin
      file = $fopen(path, "rb");
      if (file == 0) $fatal(1, "RAM %0d: cannot open %s", index, path);
      void'($fseek(file, 0, 2));
      bytes = $ftell(file);
      void'($fseek(file, 0, 0));
      words = new[(bytes + WIDTH / 8 - 1) / (WIDTH / 8)];
      for (int k = 0; k < words.size(); k++) begin
        word = '0;
        if ($fread(word, file) == 0) $fatal(1, "RAM %0d: cannot read %s", index, path);
        // $fread begins with the high byte; turning a variable is much faster than words[k].
        for (int bit_at = 0; bit_at < WIDTH; bit_at += 8) begin
          turned[bit_at+:8] = word[WIDTH-8-bit_at+:8];
        end
        words[k] = turned;
      end
      $fclose(file);
    end
  endfunction

  function automatic void store(int at, logic [WIDTH-1:0] data, logic [WIDTH/8-1:0] enable);
    logic [WIDTH-1:0] mask;
    for (int lane = 0; lane < WIDTH / 8; lane++) mask[8*lane+:8] = {8{enable[lane]}};
    words[at] = (words[at] & ~mask) | (data & mask);
  endfunction

  function automatic void save();
    string option, path;
    int file;
    option = $sformatf("dump_%0d=%%s", index);
    if (!$value$plusargs(option, path)) $fatal(1, "RAM %0d: nothing names its dump", index);
    file = $fopen(path, "wb");
    if (file == 0) $fatal(1, "RAM %0d: cannot write %s", index, path);
    for (int k = 0; k < words.size(); k++) $fwrite(file, "%u", words[k]);
    $fclose(file);
  endfunction

  assign read_at = 32'(read_address);
  assign write_at = 32'(write_address);
  assign processor_at = 32'(processor_address);

  always_ff @(posedge clk) begin
    if (!loaded) begin
      load();  // not at time zero, when the index may not have arrived
      loaded <= 1;
    end
    if (read) begin
      missing <= read_at >= words.size();
      read_data <= read_at < words.size() ? words[read_at] : '0;
    end
    lost <= write && write_at >= words.size();
    if (write && write_at < words.size()) store(write_at, write_data, write_enable);
    if (processor && processor_at < words.size()) begin
      processor_read_data <= words[processor_at];
      store(processor_at, processor_write_data, processor_write_enable);
    end
    if (dump && !dumped) save();
    dumped <= dump;
  end
endmodule
