// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// The data width converter and the protocol converters of AMD's AXI Interconnect (PG059, "AXI
// Downsizer", "AXI4 to AXI3 Converter", "AXI4-Lite Master/Slave").
//
// A burst whose beats are wider than the master side leaves in beats as wide as that; narrower ones
// keep their size and stand in the byte lanes of their addresses. No burst that leaves has more than
// BEATS beats; the parts go one after the other. A write is answered with the worst answer to its
// parts, each beat of a read with the worst of the beats it is made of (DECERR, SLVERR, OKAY).
// Identifiers are kept here and given back. One burst of each direction is under way at a time, which
// the real cores do where they split one.
module axi_converter #(
    parameter int ADDRESS = 64,
    parameter int SI = 512,
    parameter int MI = 256,
    parameter int ID = 4,
    parameter int BEATS = 256,
    parameter int LEN = 8
) (
    input logic aclk, aresetn,
    input logic [ID-1:0] s_axi_awid, s_axi_arid,
    input logic [ADDRESS-1:0] s_axi_awaddr, s_axi_araddr,
    input logic [7:0] s_axi_awlen, s_axi_arlen,
    input logic [2:0] s_axi_awsize, s_axi_arsize,
    input logic [1:0] s_axi_awburst, s_axi_arburst,
    input logic s_axi_awvalid, s_axi_arvalid,
    output logic s_axi_awready, s_axi_arready,
    input logic [SI-1:0] s_axi_wdata,
    input logic [SI/8-1:0] s_axi_wstrb,
    input logic s_axi_wlast, s_axi_wvalid,
    output logic s_axi_wready,
    output logic [ID-1:0] s_axi_bid, s_axi_rid,
    output logic [1:0] s_axi_bresp, s_axi_rresp,
    output logic s_axi_bvalid, s_axi_rvalid,
    input logic s_axi_bready, s_axi_rready,
    output logic [SI-1:0] s_axi_rdata,
    output logic s_axi_rlast,
    output logic [ADDRESS-1:0] m_axi_awaddr, m_axi_araddr,
    output logic [LEN-1:0] m_axi_awlen, m_axi_arlen,
    output logic [2:0] m_axi_awsize, m_axi_arsize,
    output logic [1:0] m_axi_awburst, m_axi_arburst,
    output logic m_axi_awvalid, m_axi_arvalid,
    input logic m_axi_awready, m_axi_arready,
    output logic [MI-1:0] m_axi_wdata,
    output logic [MI/8-1:0] m_axi_wstrb,
    output logic m_axi_wlast, m_axi_wvalid,
    input logic m_axi_wready,
    input logic [1:0] m_axi_bresp, m_axi_rresp,
    input logic m_axi_bvalid, m_axi_rvalid,
    output logic m_axi_bready, m_axi_rready,
    input logic [MI-1:0] m_axi_rdata,
    input logic m_axi_rlast
);
  localparam logic [2:0] WIDEST = 3'($clog2(MI / 8));
  typedef enum {TAKE, COLLECT, ASK, MOVE, HEAR, ANSWER} step_t;

  function automatic logic [2:0] size_out(logic [2:0] size);
    return size > WIDEST ? WIDEST : size;
  endfunction

  // Beats of a burst from `at` on, at most BEATS, until the byte before `stop`.
  function automatic logic [7:0] length(int at, int stop, logic [2:0] size);
    int count = (stop - ((at >> size) << size)) >> size;
    return 8'((count < BEATS ? count : BEATS) - 1);
  endfunction

  function automatic void check(logic [1:0] burst, int at, int stop);
    if (burst != 2'b01) $fatal(1, "%m: a burst that is not INCR");
    if (stop > 4096) $fatal(1, "%m: a burst from %h crosses 4 KB", at);
  endfunction

  // Bytes of the burst by their place in its 4 KB, which no burst leaves.
  step_t w, r;
  logic [7:0] w_bytes[4096], r_bytes[4096];
  logic w_strobes[4096];
  logic [1:0] r_answers[4096];
  logic [ADDRESS-1:0] w_first, r_first;
  logic [2:0] w_size, r_size;
  int w_at, w_stop, w_left, w_next, r_at, r_stop, r_left, r_next;

  assign s_axi_awready = w == TAKE && aresetn;
  assign s_axi_wready = w == COLLECT;
  assign m_axi_awvalid = w == ASK;
  assign m_axi_awaddr = {w_first[ADDRESS-1:12], 12'(w_at)};
  assign m_axi_awlen = length(w_at, w_stop, m_axi_awsize);
  assign m_axi_awsize = size_out(w_size);
  assign m_axi_awburst = 2'b01;
  assign m_axi_wvalid = w == MOVE;
  assign m_axi_wlast = w_left == 1;
  assign m_axi_bready = w == HEAR;
  assign s_axi_bvalid = w == ANSWER;
  always_comb begin
    m_axi_wdata = '0;
    m_axi_wstrb = '0;
    if (w == MOVE)
    for (int at = w_at; at < w_next; at++) begin
      m_axi_wdata[8*(at%(MI/8))+:8] = w_bytes[at];
      m_axi_wstrb[at%(MI/8)] = w_strobes[at];
    end
  end

  function automatic int after(int at, logic [2:0] size);
    return ((at >> size) + 1) << size;
  endfunction

  always_ff @(posedge aclk)
    if (!aresetn) w <= TAKE;
    else case (w)
      TAKE: if (s_axi_awvalid) begin
        check(s_axi_awburst, int'(s_axi_awaddr[11:0]),
              ((int'(s_axi_awaddr[11:0]) >> s_axi_awsize) + int'(s_axi_awlen) + 1) << s_axi_awsize);
        w_first <= s_axi_awaddr;
        w_size <= s_axi_awsize;
        s_axi_bid <= s_axi_awid;
        s_axi_bresp <= 0;
        w_at <= int'(s_axi_awaddr[11:0]);
        w_stop <= ((int'(s_axi_awaddr[11:0]) >> s_axi_awsize) + int'(s_axi_awlen) + 1) << s_axi_awsize;
        w <= COLLECT;
      end
      COLLECT: if (s_axi_wvalid) begin
        for (int at = w_at; at < after(w_at, w_size); at++) begin
          w_bytes[at] <= s_axi_wdata[8*(at%(SI/8))+:8];
          w_strobes[at] <= s_axi_wstrb[at%(SI/8)];
        end
        w_at <= after(w_at, w_size);
        if (s_axi_wlast != (after(w_at, w_size) == w_stop)) $fatal(1, "%m: WLAST is wrong");
        if (s_axi_wlast) begin
          w_at <= int'(w_first[11:0]);
          w <= ASK;
        end
      end
      ASK: if (m_axi_awready) begin
        w_left <= int'(m_axi_awlen) + 1;
        w_next <= after(w_at, m_axi_awsize);
        w <= MOVE;
      end
      MOVE: if (m_axi_wready) begin
        w_at <= w_next;
        w_next <= after(w_next, m_axi_awsize);
        w_left <= w_left - 1;
        if (w_left == 1) w <= HEAR;
      end
      HEAR: if (m_axi_bvalid) begin
        if (m_axi_bresp > s_axi_bresp) s_axi_bresp <= m_axi_bresp;
        w <= w_at == w_stop ? ANSWER : ASK;
      end
      default: if (s_axi_bready) w <= TAKE;
    endcase

  assign s_axi_arready = r == TAKE && aresetn;
  assign m_axi_arvalid = r == ASK;
  assign m_axi_araddr = {r_first[ADDRESS-1:12], 12'(r_at)};
  assign m_axi_arlen = length(r_at, r_stop, m_axi_arsize);
  assign m_axi_arsize = size_out(r_size);
  assign m_axi_arburst = 2'b01;
  assign m_axi_rready = r == MOVE;
  assign s_axi_rvalid = r == ANSWER;
  assign s_axi_rlast = r_next == r_stop;
  always_comb begin
    s_axi_rdata = '0;
    s_axi_rresp = 0;
    if (r == ANSWER)
    for (int at = r_at; at < r_next; at++) begin
      s_axi_rdata[8*(at%(SI/8))+:8] = r_bytes[at];
      if (r_answers[at] > s_axi_rresp) s_axi_rresp = r_answers[at];
    end
  end

  always_ff @(posedge aclk)
    if (!aresetn) r <= TAKE;
    else case (r)
      TAKE: if (s_axi_arvalid) begin
        check(s_axi_arburst, int'(s_axi_araddr[11:0]),
              ((int'(s_axi_araddr[11:0]) >> s_axi_arsize) + int'(s_axi_arlen) + 1) << s_axi_arsize);
        r_first <= s_axi_araddr;
        r_size <= s_axi_arsize;
        s_axi_rid <= s_axi_arid;
        r_at <= int'(s_axi_araddr[11:0]);
        r_stop <= ((int'(s_axi_araddr[11:0]) >> s_axi_arsize) + int'(s_axi_arlen) + 1) << s_axi_arsize;
        r <= ASK;
      end
      ASK: if (m_axi_arready) begin
        r_left <= int'(m_axi_arlen) + 1;
        r <= MOVE;
      end
      MOVE: if (m_axi_rvalid) begin
        for (int at = r_at; at < after(r_at, m_axi_arsize); at++) begin
          r_bytes[at] <= m_axi_rdata[8*(at%(MI/8))+:8];
          r_answers[at] <= m_axi_rresp;
        end
        r_at <= after(r_at, m_axi_arsize);
        r_left <= r_left - 1;
        if (m_axi_rlast != (r_left == 1)) $fatal(1, "%m: RLAST is wrong");
        if (r_left == 1) begin
          r <= ASK;
          if (after(r_at, m_axi_arsize) == r_stop) begin
            r_at <= int'(r_first[11:0]);
            r_next <= after(int'(r_first[11:0]), r_size);
            r <= ANSWER;
          end
        end
      end
      default: if (s_axi_rready) begin
        r_at <= r_next;
        r_next <= after(r_next, r_size);
        if (s_axi_rlast) r <= TAKE;
      end
    endcase
endmodule
