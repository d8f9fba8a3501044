// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// verilator lint_off BLKSEQ
// AMD's AXI Crossbar with one slave side (PG059, "AXI Crossbar"): a burst goes to the master side in
// whose range, 2**WIDTH bytes from BASE on, its address lies; one that lies in none is answered with
// DECERR. Addresses pass whole; of identifiers THREAD lower bits. One burst of each direction is under way at a time.
module axi_decoder #(
    parameter int ADDRESS = 32,
    parameter int DATA = 32,
    parameter int ID = 1,
    parameter int THREAD = 0,
    parameter int COUNT = 2,
    parameter bit [COUNT-1:0][63:0] BASE = '0,
    parameter bit [COUNT-1:0][31:0] WIDTH = '0
) (
    input logic aclk, aresetn,
    input logic [ID-1:0] s_axi_awid, s_axi_arid,
    input logic [ADDRESS-1:0] s_axi_awaddr, s_axi_araddr,
    input logic [7:0] s_axi_awlen, s_axi_arlen,
    input logic [2:0] s_axi_awsize, s_axi_arsize, s_axi_awprot, s_axi_arprot,
    input logic [1:0] s_axi_awburst, s_axi_arburst,
    input logic s_axi_awvalid, s_axi_arvalid,
    output logic s_axi_awready, s_axi_arready,
    input logic [DATA-1:0] s_axi_wdata,
    input logic [DATA/8-1:0] s_axi_wstrb,
    input logic s_axi_wlast, s_axi_wvalid,
    output logic s_axi_wready,
    output logic [ID-1:0] s_axi_bid, s_axi_rid,
    output logic [1:0] s_axi_bresp, s_axi_rresp,
    output logic s_axi_bvalid, s_axi_rvalid,
    input logic s_axi_bready, s_axi_rready,
    output logic [DATA-1:0] s_axi_rdata,
    output logic s_axi_rlast,
    output logic [COUNT-1:0][ID-1:0] m_axi_awid, m_axi_arid,
    output logic [COUNT-1:0][ADDRESS-1:0] m_axi_awaddr, m_axi_araddr,
    output logic [COUNT-1:0][7:0] m_axi_awlen, m_axi_arlen,
    output logic [COUNT-1:0][2:0] m_axi_awsize, m_axi_arsize, m_axi_awprot, m_axi_arprot,
    output logic [COUNT-1:0][1:0] m_axi_awburst, m_axi_arburst,
    output logic [COUNT-1:0] m_axi_awvalid, m_axi_arvalid,
    input logic [COUNT-1:0] m_axi_awready, m_axi_arready,
    output logic [COUNT-1:0][DATA-1:0] m_axi_wdata,
    output logic [COUNT-1:0][DATA/8-1:0] m_axi_wstrb,
    output logic [COUNT-1:0] m_axi_wlast, m_axi_wvalid,
    input logic [COUNT-1:0] m_axi_wready,
    input logic [COUNT-1:0][ID-1:0] m_axi_bid, m_axi_rid,
    input logic [COUNT-1:0][1:0] m_axi_bresp, m_axi_rresp,
    input logic [COUNT-1:0] m_axi_bvalid, m_axi_rvalid,
    output logic [COUNT-1:0] m_axi_bready, m_axi_rready,
    input logic [COUNT-1:0][DATA-1:0] m_axi_rdata,
    input logic [COUNT-1:0] m_axi_rlast
);
  localparam logic [1:0] DECERR = 2'b11;
  wire [ID-1:0] awid = s_axi_awid & ((1 << THREAD) - 1), arid = s_axi_arid & ((1 << THREAD) - 1);

  // The master side of an address, COUNT if there is none.
  function automatic int side(logic [ADDRESS-1:0] address);
    for (int k = 0; k < COUNT; k++)
      if (64'(address) >> WIDTH[k] == BASE[k] >> WIDTH[k]) return k;
    return COUNT;
  endfunction

  typedef enum {REST, ASKED, TOLD, REFUSED} step_t;
  step_t w, r;
  int w_side, r_side;
  logic w_told;  // all data of the burst have passed: those behind are of the next one
  logic [7:0] r_left;
  logic [ID-1:0] w_id, r_id;

  always_comb begin
    {m_axi_awid, m_axi_awaddr, m_axi_awlen} = {{COUNT{awid}}, {COUNT{s_axi_awaddr}}, {COUNT{s_axi_awlen}}};
    {m_axi_awsize, m_axi_awprot, m_axi_awburst} = {{COUNT{s_axi_awsize}}, {COUNT{s_axi_awprot}}, {COUNT{s_axi_awburst}}};
    {m_axi_wdata, m_axi_wstrb, m_axi_wlast} = {{COUNT{s_axi_wdata}}, {COUNT{s_axi_wstrb}}, {COUNT{s_axi_wlast}}};
    {m_axi_awvalid, m_axi_wvalid, m_axi_bready} = '0;
    {s_axi_awready, s_axi_wready, s_axi_bvalid, s_axi_bresp, s_axi_bid} = '0;
    if (w == ASKED && w_side == COUNT) s_axi_awready = 1;
    else if (w == ASKED) begin
      m_axi_awvalid[w_side] = s_axi_awvalid;
      s_axi_awready = m_axi_awready[w_side];
    end
    if (w == TOLD && w_side == COUNT) s_axi_wready = 1;
    else if (w == TOLD) begin
      m_axi_wvalid[w_side] = s_axi_wvalid & ~w_told;
      s_axi_wready = m_axi_wready[w_side] & ~w_told;
      m_axi_bready[w_side] = s_axi_bready;
      s_axi_bvalid = m_axi_bvalid[w_side];
      s_axi_bresp = m_axi_bresp[w_side];
      s_axi_bid = m_axi_bid[w_side];
    end
    if (w == REFUSED) {s_axi_bvalid, s_axi_bresp, s_axi_bid} = {1'b1, DECERR, w_id};
  end
  always_ff @(posedge aclk)
    if (!aresetn || w != TOLD) w_told <= 0;
    else if (s_axi_wvalid && s_axi_wready && s_axi_wlast) w_told <= 1;
  always_ff @(posedge aclk)
    if (!aresetn) w <= REST;
    else case (w)
      REST: if (s_axi_awvalid) begin
        w_side <= side(s_axi_awaddr);
        w_id <= awid;
        w <= ASKED;
      end
      ASKED: if (s_axi_awvalid && s_axi_awready) w <= TOLD;
      TOLD: if (w_side == COUNT ? s_axi_wvalid && s_axi_wlast : s_axi_bvalid && s_axi_bready)
        w <= w_side == COUNT ? REFUSED : REST;
      default: if (s_axi_bready) w <= REST;
    endcase

  always_comb begin
    {m_axi_arid, m_axi_araddr, m_axi_arlen} = {{COUNT{arid}}, {COUNT{s_axi_araddr}}, {COUNT{s_axi_arlen}}};
    {m_axi_arsize, m_axi_arprot, m_axi_arburst} = {{COUNT{s_axi_arsize}}, {COUNT{s_axi_arprot}}, {COUNT{s_axi_arburst}}};
    {m_axi_arvalid, m_axi_rready} = '0;
    {s_axi_arready, s_axi_rvalid, s_axi_rresp, s_axi_rid, s_axi_rdata, s_axi_rlast} = '0;
    if (r == ASKED && r_side == COUNT) s_axi_arready = 1;
    else if (r == ASKED) begin
      m_axi_arvalid[r_side] = s_axi_arvalid;
      s_axi_arready = m_axi_arready[r_side];
    end
    if (r == TOLD) begin
      m_axi_rready[r_side] = s_axi_rready;
      s_axi_rvalid = m_axi_rvalid[r_side];
      s_axi_rresp = m_axi_rresp[r_side];
      s_axi_rid = m_axi_rid[r_side];
      s_axi_rdata = m_axi_rdata[r_side];
      s_axi_rlast = m_axi_rlast[r_side];
    end
    if (r == REFUSED) {s_axi_rvalid, s_axi_rresp, s_axi_rid, s_axi_rlast} = {1'b1, DECERR, r_id, r_left == 0};
  end
  always_ff @(posedge aclk)
    if (!aresetn) r <= REST;
    else case (r)
      REST: if (s_axi_arvalid) begin
        r_side <= side(s_axi_araddr);
        r_id <= arid;
        r_left <= s_axi_arlen;
        r <= ASKED;
      end
      ASKED: if (s_axi_arvalid && s_axi_arready) r <= r_side == COUNT ? REFUSED : TOLD;
      TOLD: if (s_axi_rvalid && s_axi_rready && s_axi_rlast) r <= REST;
      default: if (s_axi_rready) begin
        r_left <= r_left - 1;
        if (s_axi_rlast) r <= REST;
      end
    endcase
endmodule
