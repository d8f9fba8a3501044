// What the memory of a simulated host behind PCI Express holds: dwords of a file.
//
// +pcie_host_<index>=<file> names the file; the first byte is the low one of the first dword. A host
// of which nothing is said has no memory. `size` counts its dwords. In a cycle with `read`, each
// segment reads four dwords from a place of its own on; data of what is not there is zero. A beat is
// written from any dword on, byte by byte; what is beyond the end is lost and comes with `lost` a
// cycle later. A processor has an access a cycle: the beat as it was before it, and the bytes that
// it writes. When `dump` rises, all goes to the file of +pcie_dump_<index>=<file>.
module pcie_host_array #(
    parameter int LANES = 16,
    parameter int PLACE_BITS = 26,
    parameter int INDEX_BITS = 22
) (
    input logic clk,
    input logic [7:0] index,
    output logic [PLACE_BITS:0] size,
    input logic read,
    input logic [LANES/4*PLACE_BITS-1:0] places,
    output logic [32*LANES-1:0] read_data,
    input logic write,
    input logic [PLACE_BITS-1:0] write_place,
    input logic [32*LANES-1:0] write_data,
    input logic [4*LANES-1:0] write_enable,
    output logic lost,
    input logic processor,
    input logic [INDEX_BITS-1:0] processor_beat,
    input logic [32*LANES-1:0] processor_write_data,
    input logic [4*LANES-1:0] processor_write_enable,
    output logic [32*LANES-1:0] processor_read_data,
    input logic dump
);
  logic [31:0] words[];
  bit loaded = 0;
  bit dumped = 0;

  function automatic void load();
    string path;
    int file;
    logic [31:0] word;
    if (!$value$plusargs($sformatf("pcie_host_%0d=%%s", index), path)) return;
    file = $fopen(path, "rb");
    if (file == 0) $fatal(1, "host %0d: cannot open %s", index, path);
    void'($fseek(file, 0, 2));
    words = new[($ftell(file) + 3) / 4];
    void'($fseek(file, 0, 0));
    for (int k = 0; k < words.size(); k++) begin
      word = '0;
      if ($fread(word, file) == 0) $fatal(1, "host %0d: cannot read %s", index, path);
      words[k] = {<<8{word}};
    end
    $fclose(file);
  endfunction

  function automatic void save();
    string path;
    int file;
    if (!$value$plusargs($sformatf("pcie_dump_%0d=%%s", index), path))
      $fatal(1, "host %0d: nothing names its dump", index);
    file = $fopen(path, "wb");
    if (file == 0) $fatal(1, "host %0d: cannot write %s", index, path);
    for (int k = 0; k < words.size(); k++) $fwrite(file, "%u", words[k]);
    $fclose(file);
  endfunction

  function automatic bit store(int at, logic [32*LANES-1:0] data, logic [4*LANES-1:0] enable);
    store = 0;
    for (int lane = 0; lane < LANES; lane++) begin
      if (enable[4*lane+:4] == 0) continue;
      if (at + lane >= words.size()) store = 1;
      else
        for (int k = 0; k < 4; k++)
          if (enable[4*lane+k]) words[at+lane][8*k+:8] = data[32*lane+8*k+:8];
    end
  endfunction

  function automatic logic [31:0] word_at(int at);
    return at < words.size() ? words[at] : '0;
  endfunction

  always_ff @(posedge clk) begin
    if (!loaded) begin
      load();  // not at time zero, when the index may not have arrived
      loaded <= 1;
    end
    size <= (PLACE_BITS + 1)'(words.size());
    if (read)
      for (int lane = 0; lane < LANES; lane++)
        read_data[32*lane+:32] <=
            word_at(32'(PLACE_BITS'(places[lane/4*PLACE_BITS+:PLACE_BITS] + PLACE_BITS'(lane % 4))));
    lost <= 0;
    if (write) lost <= store(32'(write_place), write_data, write_enable);
    if (processor) begin
      for (int lane = 0; lane < LANES; lane++)
        processor_read_data[32*lane+:32] <= word_at(LANES * 32'(processor_beat) + lane);
      void'(store(LANES * 32'(processor_beat), processor_write_data, processor_write_enable));
    end
    if (dump && !dumped) save();
    dumped <= dump;
  end
endmodule
