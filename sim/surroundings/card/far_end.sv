// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// verilator lint_off WAITCONST
// Packets to send, as a simulation's files have them: `+beats` 64 bytes a line, `+packets` a line each:
// class, PRs, bytes of a PR with its property, bytes, first beat; of each class the first is the one
// that fills a buffer the fastest, the last is the longest. Each is sent with its number in the last
// four bytes of the source's address, and the number of each read in its `id`.
package traffic;
  typedef struct {int kind, prs, stride, bytes, first;} packet_t;
  logic [511:0] beats[8192];
  packet_t packets[2][$];
  bit loaded = 0;

  function automatic void load();
    string beats_file, packets_file;
    int file, kind, prs, stride, count, first;
    if (loaded) return;
    loaded = 1;
    if (!$value$plusargs("beats=%s", beats_file)) $fatal(1, "+beats is missing");
    if (!$value$plusargs("packets=%s", packets_file)) $fatal(1, "+packets is missing");
    $readmemh(beats_file, beats);
    file = $fopen(packets_file, "r");
    while ($fscanf(file, "%d %d %d %d %d", kind, prs, stride, count, first) == 5)
      packets[kind].push_back('{kind, prs, stride, count, first});
    $fclose(file);
  endfunction

  function automatic logic [63:0] keep(packet_t packet, int beat);
    automatic int left = packet.bytes - 64 * beat;
    return left >= 64 ? '1 : ~64'b0 >> (64 - left);
  endfunction

  function automatic logic [511:0] data(packet_t packet, int beat, int number, int read);
    automatic logic [511:0] word = beats[packet.first+beat];
    if (beat == 0) for (int k = 0; k < 4; k++) word[8*(8+k)+:8] = number[8*(3-k)+:8];
    else if (packet.kind == 0 && packet.bytes > 64 + 17)
      for (int pr = 0; pr < packet.prs; pr++)
        for (int k = 0; k < 4; k++) begin
          automatic int at = 64 + packet.stride * pr + 14 + k;
          if (at / 64 == beat) word[8*(at%64)+:8] = (read + pr) >> 8 * (3 - k);
        end
    return word;
  endfunction

  function automatic int number_in(logic [511:0] word);
    number_in = 0;
    for (int k = 0; k < 4; k++) number_in = number_in << 8 | word[8*(8+k)+:8];
  endfunction
endpackage

// A station at the other end of a card's fibre: an incast, packets of both classes from many sources,
// back to back at line rate; and a sink.
//
// Where it is paused it begins no packet later than REACTION quanta after the pause has come, but
// does until then, the longest one last. It goes on when the pause is taken back or has not been
// refreshed. `pause` asks the card for the same, for ever (2) or now and then (1); that it begins
// no packet of the class later than `+slack_ps` after it must have heard of it is checked. Classes
// are NetSparse's, or have the priorities `+class_0` and `+class_1`.
module card_far_end #(
    parameter int REACTION = 394
) (
    input logic [3:0] rx_p, rx_n,
    output logic [3:0] tx_p, tx_n
);
  import fibre::*;
  import traffic::*;
  localparam real PERIOD = 1.0e6 / 322.265625;
  localparam int QUANTUM_PS = 5120, AROUND = 24, MAX_CREDIT = 39_000, LINK = 1000;
  int priorities[2] = '{3, 4};
  int slack_ps = 1_000_000;
  logic clk;
  logic on;
  initial on = 1;
  card_clock #(.PERIOD(PERIOD)) clock (.on, .clk);
  logic [3:0] code;
  initial begin
    transmitters = transmitters + 1;
    code = 4'(transmitters);
    rsfec[code] = 1;
    load();
    path_ps = fibre_ps();
    void'($value$plusargs("slack_ps=%d", slack_ps));
    void'($value$plusargs("class_0=%d", priorities[0]));
    void'($value$plusargs("class_1=%d", priorities[1]));
  end
  longint path_ps;
  assign tx_p = code;
  assign tx_n = ~code;
  wire [3:0] from = rx_p == ~rx_n ? rx_p : '0;

  int unsigned limit[2]  /* verilator public_flat_rw */;  // packets to send, of each class
  int unsigned densest  /* verilator public_flat_rw */ = 0;  // percent that are the densest packet
  int unsigned pause[2]  /* verilator public_flat_rw */;  // of the card, by class
  int unsigned number[2]  /* verilator public_flat_rd */;  // packets sent
  int unsigned reads  /* verilator public_flat_rd */ = 0;  // PRs in them that are reads
  int unsigned heard[2]  /* verilator public_flat_rd */;  // packets received
  int unsigned gaps[2]  /* verilator public_flat_rd */;  // numbers that are missing there
  int unsigned answers  /* verilator public_flat_rd */ = 0;  // PRs of responses received
  int unsigned wrong  /* verilator public_flat_rd */ = 0;  // errors, and what was answered before
  int unsigned pauses[2]  /* verilator public_flat_rd */;  // pauses received
  longint latest  /* verilator public_flat_rd */ = 0;  // ps that the card went on after a pause
  bit numbered  /* verilator public_flat_rw */ = 1;  // what is received has numbers as well
  bit keyed  /* verilator public_flat_rw */ = 0;  // what is received has properties that repeat their idx
  int unsigned prs_heard[2]  /* verilator public_flat_rd */;  // if keyed, PRs received, of each class
  int unsigned mangled  /* verilator public_flat_rd */ = 0;  // if keyed, packets that are not whole
  bit answered[2**22];

  // What the card wants of us.
  longint stop_at[2], until_[2];
  bit [1:0] paused = '0;
  // What we want of it.
  longint obey[2], asked[2], next_pause[2];

  int kind, beat = 0, credit = 0, bytes;
  bit sending = 0, first = 1;
  packet_t packet;
  logic [7:0] got[16384]  /* verilator public_flat_rd */;  // the latest packet

  int linked = 0;  // cycles since the card says that it hears us
  function automatic bit may(int k);
    return linked == LINK && number[k] < limit[k] && !(paused[k] && longint'($time) > stop_at[k]);
  endfunction

  function automatic void choose();
    kind = may(0) && may(1) ? $urandom_range(1) : may(1) ? 1 : 0;
    packet = packets[kind][$urandom_range(99) < densest ? 0 : $urandom_range(packets[kind].size() - 1)];
    // The last packet that it may begin is the longest.
    if (paused[kind] && longint'($time) + 80 * (packet.bytes + AROUND) > stop_at[kind])
      packet = packets[kind][packets[kind].size()-1];
    sending = 1;
    beat = 0;
  endfunction

  function automatic void send();
    automatic logic last = 64 * (beat + 1) >= packet.bytes;
    way[code].push_back('{data(packet, beat, number[kind], reads), keep(packet, beat), last, 1'b0,
                          longint'($time) + path_ps});
    credit = credit - 1000 * (last ? packet.bytes - 64 * beat + AROUND : 64);
    beat = beat + 1;
    if (last) begin
      sending = 0;
      number[kind] = number[kind] + 1;
      if (kind == 0 && packet.bytes > 64 + 17) reads = reads + packet.prs;
    end
  endfunction

  function automatic void ask(int k, bit stop);
    automatic logic [8:0] due = 9'b1 << priorities[k];
    automatic logic [8:0][15:0] quanta = {9{16'd2000}};
    way[code].push_back('{pfc::frame(due, stop ? due : '0, quanta), 64'hFFF_FFFF_FFFF_FFFF, 1'b1, 1'b0,
                          longint'($time) + path_ps});
    credit = credit - 1000 * (60 + AROUND);
    if (stop) begin
      if (obey[k] < longint'($time)) asked[k] = $time;
      obey[k] = longint'($time) + 2000 * QUANTUM_PS;
    end else obey[k] = 0;
  endfunction

  bit deaf;  // to pauses
  initial deaf = $test$plusargs("deaf");
  function automatic void control(logic [511:0] frame);
    if (!deaf) for (int k = 0; k < 2; k++)
      if (frame[8*17+priorities[k]]) begin
        automatic int quanta = {frame[8*(18+2*priorities[k])+:8], frame[8*(19+2*priorities[k])+:8]};
        if (!paused[k]) stop_at[k] = longint'($time) + longint'(REACTION) * QUANTUM_PS;
        if (!paused[k] && quanta != 0) pauses[k] = pauses[k] + 1;
        paused[k] = quanta != 0;
        until_[k] = longint'($time) + longint'(quanta) * QUANTUM_PS;
      end
  endfunction

  function automatic void judge(int count);
    automatic int k = got[51] != 1;
    automatic int prs = {got[60], got[61], got[62], got[63]};
    automatic int length = {got[56], got[57], got[58], got[59]};
    automatic int seen = {got[8], got[9], got[10], got[11]};
    heard[k] = heard[k] + 1;
    if (keyed) begin
      automatic int stride = 18 + (got[51] == 2 ? length : 0);
      automatic bit whole = count == 64 + stride * prs;
      for (int at = 64; whole && at < count; at++)
        if ((at - 64) % stride >= 18 && got[at] != got[at-(at-64)%stride+6+((at-64)%stride-18)%8]) whole = 0;
      prs_heard[k] = prs_heard[k] + prs;
      if (!whole) mangled = mangled + 1;
    end else if (numbered) gaps[k] = gaps[k] + seen - (heard[k] + gaps[k] - 1);
    else if (k == 1) begin
      if (got[51] == 3) wrong = wrong + 1;
      for (int pr = 0; pr < prs; pr++) begin
        automatic int at = 64 + (18 + (got[51] == 2 ? length : 0)) * pr + 14;
        automatic int read = {got[at], got[at+1], got[at+2], got[at+3]};
        if (read >= reads || answered[read]) wrong = wrong + 1;
        answered[read] = 1;
        answers = answers + 1;
      end
    end
  endfunction

  always @(posedge clk) begin
    automatic longint now = $time;
    if (from == 0 || remote_fault[from]) linked = 0;
    else if (linked < LINK) linked = linked + 1;
    for (int k = 0; k < 2; k++) if (paused[k] && now >= until_[k]) paused[k] = 0;
    credit = credit + int'(PERIOD * 12.5);  // thousandths of a byte
    if (credit > MAX_CREDIT) credit = MAX_CREDIT;
    if (credit >= 0 && !sending && linked == LINK)
      for (int k = 0; k < 2; k++)
        if (pause[k] != 0 && now >= next_pause[k]) begin
          automatic bit stop = pause[k] == 2 || obey[k] < now;
          ask(k, stop);
          next_pause[k] = now + (pause[k] == 2 ? 3_000_000 : 1_000_000 * $urandom_range(8, 1));
          break;
        end
    if (credit >= 0 && !sending && (may(0) || may(1))) choose();
    if (credit >= 0 && sending) send();
    if (from != 0 && way[from].size() != 0 && way[from][0].due <= now) begin
      automatic beat_t come = way[from].pop_front();
      if (first && come.data[8*12+:16] == 16'h0888) control(come.data);
      else begin
        if (first) begin
          automatic int k = come.data[8*51+:8] != 1;
          bytes = 0;
          if (obey[k] > now && asked[k] != 0) begin
            if (now - asked[k] > latest) latest = now - asked[k];
            if (now - asked[k] > 2 * path_ps + longint'(slack_ps))
              $fatal(1, "%m: class %0d goes on %0d ps after a pause", k, now - asked[k]);
          end
        end
        for (int k = 0; k < 64; k++) if (come.keep[k]) begin
          got[bytes] = come.data[8*k+:8];
          bytes = bytes + 1;
        end
        if (come.last) judge(bytes);
      end
      first = come.last;
    end
  end
endmodule

// What stands for a core beside a MAC, at 250 MHz: a source of numbered packets, and a sink that takes
// a beat in SLOW percent of the cycles and now and then none for OUTAGE cycles.
module card_core #(
    parameter int KIND = 0, OUTAGE = 8000
) (
    input logic clk, rst,
    output logic [576:0] o_payload,
    output logic o_valid,
    input logic o_ready,
    input logic [576:0] i_payload,
    input logic i_valid,
    output logic i_ready
);
  import traffic::*;
  int unsigned limit  /* verilator public_flat_rw */ = 0;
  int unsigned longest  /* verilator public_flat_rw */ = 0;  // percent that are the longest packet
  int unsigned speed  /* verilator public_flat_rw */ = 100;  // percent
  int unsigned outages  /* verilator public_flat_rw */ = 0;  // of 100,000 cycles begin one
  int unsigned number  /* verilator public_flat_rd */ = 0;  // packets sent
  int unsigned heard  /* verilator public_flat_rd */ = 0;  // packets received
  int unsigned gaps  /* verilator public_flat_rd */ = 0;  // numbers that are missing there
  int beat = 0, rest = 0;
  bit first = 1;
  packet_t packet;
  initial load();
  always @(posedge clk)
    if (rst) begin
      o_valid <= 0;
      i_ready <= 0;
    end else begin
      if (o_valid && o_ready || !o_valid)
        if (number < limit) begin
          automatic logic last;
          if (beat == 0)
            packet = packets[KIND][$urandom_range(99) < longest ? packets[KIND].size() - 1
                : $urandom_range(packets[KIND].size() - 1)];
          last = 64 * (beat + 1) >= packet.bytes;
          o_valid <= 1;
          o_payload <= {last, keep(packet, beat), data(packet, beat, number, 0)};
          beat = last ? 0 : beat + 1;
          if (last) number <= number + 1;
        end else o_valid <= 0;
      if (i_valid && i_ready) begin
        if (first) begin
          automatic int seen = number_in(i_payload[511:0]);
          gaps = gaps + seen - (heard + gaps);
          heard = heard + 1;
          if (i_payload[8*51+:8] != 1 ^ KIND == 1) $fatal(1, "%m: a packet of the other class");
        end
        first <= i_payload[576];
      end
      if (rest > 0) rest = rest - 1;
      else if ($urandom_range(99999) < outages) rest = OUTAGE;
      i_ready <= rest == 0 && $urandom_range(99) < speed;
    end
endmodule
