// The part of UltraScale+'s DSP slice that the hardware uses: no multiplier, no pattern, a 48-bit
// sum with a register behind every operand, control input and sum (AMD UG579, chapters 1 and 2).
// P = Z +- (W + X + Y), each of which OPMODE chooses. Anything else ends the simulation.
module DSP48E2 #(
    parameter A_INPUT = "DIRECT", parameter B_INPUT = "DIRECT",
    parameter USE_MULT = "MULTIPLY", parameter USE_SIMD = "ONE48",
    parameter integer AREG = 1, parameter integer ACASCREG = 1,
    parameter integer BREG = 1, parameter integer BCASCREG = 1,
    parameter integer CREG = 1, parameter integer OPMODEREG = 1,
    parameter integer ALUMODEREG = 1, parameter integer PREG = 1,
    parameter integer ADREG = 1, parameter integer DREG = 1, parameter integer MREG = 1,
    parameter integer INMODEREG = 1, parameter integer CARRYINREG = 1,
    parameter integer CARRYINSELREG = 1,
    parameter [47:0] RND = 48'h0
) (
    input CLK,
    input [29:0] A, input [17:0] B, input [47:0] C, input [26:0] D,
    input [29:0] ACIN, input [17:0] BCIN, input [47:0] PCIN,
    input CARRYCASCIN, input CARRYIN, input [2:0] CARRYINSEL, input MULTSIGNIN,
    input [8:0] OPMODE, input [3:0] ALUMODE, input [4:0] INMODE,
    input CEA1, input CEA2, input CEB1, input CEB2, input CEC, input CECTRL, input CEALUMODE,
    input CEAD, input CECARRYIN, input CED, input CEINMODE, input CEM, input CEP,
    input RSTA, input RSTALLCARRYIN, input RSTALUMODE, input RSTB, input RSTC, input RSTCTRL,
    input RSTD, input RSTINMODE, input RSTM, input RSTP,
    output [47:0] P, output [47:0] PCOUT
);
    reg [47:0] ab = 0, c = 0, sum = 0;
    reg [8:0] opmode = 0;
    reg [1:0] alumode = 0;

    wire [47:0] w = opmode[8] ? RND : opmode[7] ? sum : 48'b0;
    wire [47:0] x = opmode[0] ? ab : 48'b0;
    wire [47:0] y = opmode[2] ? c : 48'b0;
    wire [47:0] z = opmode[4] ? PCIN : 48'b0;
    wire [47:0] added = w + x + y;

    always @(posedge CLK) begin
        ab <= {A, B};
        c <= C;
        opmode <= OPMODE;
        alumode <= ALUMODE[1:0];
        if (CEP) sum <= alumode[0] ? z - added : z + added;
    end

    assign P = sum;
    assign PCOUT = sum;

`ifdef VERILATOR
    // What of OPMODE and ALUMODE is modelled: W of 0, P, RND; X of 0, A:B; Y of 0, C;
    // Z of 0, PCIN; Z + ..., Z - ....
    wire known = OPMODE[8:7] != 2'b11 && OPMODE[6:5] == 2'b00 && OPMODE[3] == OPMODE[2]
        && OPMODE[1] == OPMODE[0] && ALUMODE[3:2] == 2'b00 && ALUMODE[1] == ALUMODE[0];
    wire tied = CEA2 & CEB2 & CEC & CECTRL & CEALUMODE
        & ~(CEA1 | CEB1 | CEAD | CECARRYIN | CED | CEINMODE | CEM)
        & ~(RSTA | RSTALLCARRYIN | RSTALUMODE | RSTB | RSTC | RSTCTRL | RSTD | RSTINMODE | RSTM)
        & ~(RSTP | CARRYCASCIN | CARRYIN | MULTSIGNIN)
        & ~|{CARRYINSEL, INMODE, D, ACIN, BCIN};
    always @(posedge CLK) if (!known || !tied) $fatal(1, "DSP48E2: OPMODE %b ALUMODE %b", OPMODE, ALUMODE);

    initial if (A_INPUT != "DIRECT" || B_INPUT != "DIRECT" || USE_MULT != "NONE"
        || USE_SIMD != "ONE48" || AREG != 1 || ACASCREG != 1 || BREG != 1 || BCASCREG != 1
        || CREG != 1 || OPMODEREG != 1 || ALUMODEREG != 1 || PREG != 1 || ADREG != 0 || DREG != 0
        || MREG != 0 || INMODEREG != 0 || CARRYINREG != 0 || CARRYINSELREG != 0)
        $fatal(1, "DSP48E2: attributes that are not modelled");
`endif
endmodule
