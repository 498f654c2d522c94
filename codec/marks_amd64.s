#include "textflag.h"

// func marksAVX2(p *byte, blocks int, plain, lines *uint64)
//
// 32 bytes a register, two registers a block. A byte is marked in *plain if it is a quote or a backslash, or less than
// a blank as a signed number, which control characters and all that is not ASCII are; in *lines if it is a line feed.
TEXT ·marksAVX2(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ plain+16(FP), DI
	MOVQ lines+24(FP), DX

	MOVQ         $'"', AX
	MOVQ         AX, X0
	VPBROADCASTB X0, Y0
	MOVQ         $'\\', AX
	MOVQ         AX, X1
	VPBROADCASTB X1, Y1
	MOVQ         $' ', AX
	MOVQ         AX, X2
	VPBROADCASTB X2, Y2
	MOVQ         $'\n', AX
	MOVQ         AX, X3
	VPBROADCASTB X3, Y3

block:
	PREFETCHT1 24576(SI) // what the next group needs, while this one is read
	VMOVDQU (SI), Y4
	VMOVDQU 32(SI), Y5

	VPCMPEQB  Y4, Y3, Y6
	VPCMPEQB  Y5, Y3, Y7
	VPMOVMSKB Y6, AX
	VPMOVMSKB Y7, BX
	SHLQ      $32, BX
	ORQ       BX, AX
	MOVQ      AX, (DX)

	VPCMPEQB  Y4, Y0, Y6
	VPCMPEQB  Y4, Y1, Y7
	VPCMPGTB  Y4, Y2, Y4 // blank > byte
	VPOR      Y6, Y7, Y7
	VPOR      Y4, Y7, Y7
	VPCMPEQB  Y5, Y0, Y8
	VPCMPEQB  Y5, Y1, Y9
	VPCMPGTB  Y5, Y2, Y5
	VPOR      Y8, Y9, Y9
	VPOR      Y5, Y9, Y9
	VPMOVMSKB Y7, AX
	VPMOVMSKB Y9, BX
	SHLQ      $32, BX
	ORQ       BX, AX
	MOVQ      AX, (DI)

	ADDQ $64, SI
	ADDQ $8, DI
	ADDQ $8, DX
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET
