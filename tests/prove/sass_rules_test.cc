// Each rule of reading machine code, by code written for it: what it proves, and what it does not.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/prove/sass_rows.h"
#include "tools/prove/code.h"

namespace vramspan::prove {
namespace {

std::string TextOf(std::string_view rows, int version = 90) {
  std::string text =
      absl::StrCat("\t.target\tsm_", version,
                   "\n\t.section\t.nv.constant4,\"a\",@progbits\n /*0000*/ .dword __assertfail\n"
                   " /*0008*/ .dword vprintf\n\t.section\t.text.k,\"ax\",@progbits\n"
                   "\t.other k,@\"STO_CUDA_ENTRY STV_DEFAULT\"\nk:\n.text.k:\n");
  AppendRows(rows, &text);
  return text;
}

std::string Told(std::string_view rows, int version = 90) {
  const std::vector<KernelReading> readings = ReadKernels(TextOf(rows, version));
  if (readings.size() != 1) return "no kernel";
  return readings[0].proven ? "proven" : readings[0].why;
}

// R2 and R3 are a pointer that is a parameter; R4 and R5 what is there; R6 and R7 a parameter.
constexpr std::string_view kBegin =
    "LDC.64 R2, c[0x0][0x210]\nLDG.E.64 R4, desc[UR4][R2.64]\nLDC.64 R6, c[0x0][0x218]\n";
constexpr std::string_view kEnd = "\nLDG.E R0, desc[UR4][R8.64]\nEXIT";
constexpr std::string_view kMemory = "an address from memory";
constexpr std::string_view kScaledParameter = "an address that is a scaled parameter";
constexpr std::string_view kNotUnderstood = "an operand that is not understood";
constexpr std::string_view kNoParameter = "an address of no parameter";
constexpr std::string_view kNoMap = "a tensor map that is no parameter";

struct Rule {
  const char* name;
  const char* rows;  // Between kBegin and kEnd, which takes the address in R8 and R9.
  std::string_view told;
};

class RuleTest : public testing::TestWithParam<Rule> {};

TEST_P(RuleTest, SaysWhatItMust) {
  const std::string told = Told(absl::StrCat(kBegin, GetParam().rows, kEnd));
  EXPECT_TRUE(absl::StartsWith(told, GetParam().told)) << told;
}

constexpr Rule kRules[] = {
    {"Parameter", "MOV R8, R6\nMOV R9, R7", "proven"},
    {"Memory", "MOV R8, R4\nMOV R9, R5", kMemory},
    {"Number", "MOV R8, 0x10\nMOV R9, 0x20", kNoParameter},
    {"LowerHalfAlone", "IADD3 R8, P0, R4, R6, RZ\nIADD3.X R9, R7, RZ, RZ, P0, !PT", "proven"},
    {"DistanceOf64Bits", "IADD3 R8, P0, R4, R6, RZ\nIADD3.X R9, R7, R5, RZ, P0, !PT", kMemory},
    {"WideProduct", "IMAD.WIDE R8, R4, 0x4, R6", "proven"},
    {"WideProductOfMemory", "IMAD.WIDE R8, R6, 0x4, R4", kMemory},
    {"WideProductAlone", "IMAD.WIDE R8, R4, 0x1000, RZ", kMemory},
    {"WideProductOfNumbers", "S2R R0, SR_TID.X\nIMAD.WIDE R8, R0, 0x4, R6", "proven"},
    {"Scaled", "MOV R8, R6\nIMAD R9, R5, 0x8, R7", "proven"},
    {"ScaledByOne", "MOV R8, R6\nIMAD R9, R5, 0x1, R7", kMemory},
    {"Stride", "MOV R8, R6\nIMAD R9, R5, R6, R7", "proven"},
    {"ScaledStride", "IMAD.WIDE R10, R6, 0x24, RZ\nMOV R8, R6\nIMAD R9, R5, R11, R7", "proven"},
    {"ScaledStrideOfMemory", "IMAD.WIDE R10, R4, 0x24, RZ\nMOV R8, R6\nIMAD R9, R5, R11, R7",
     kMemory},
    {"StrideOfBits", "LOP3.LUT R10, R6, 0x1, RZ, 0xc0, !PT\nMOV R8, R6\nIMAD R9, R5, R10, R7",
     kMemory},
    {"StrideOfANumber", "S2R R10, SR_TID.X\nMOV R8, R6\nIMAD R9, R5, R10, R7", kMemory},
    {"MovedByProduct", "MOV R8, R6\nIMAD.MOV.U32 R9, RZ, RZ, R5", kMemory},
    {"UpperOfProduct", "MOV R8, R6\nIMAD.HI.U32 R9, R5, R4, R7", kMemory},
    {"Sign", "MOV R8, R6\nSHF.R.S32.HI R9, RZ, 0x1f, R5\nIADD3 R9, R9, R7, RZ", "proven"},
    {"NoSign", "MOV R8, R6\nSHF.R.S32.HI R9, RZ, 0x1e, R5\nIADD3 R9, R9, R7, RZ", kMemory},
    {"ShiftedIndex", "MOV R8, R6\nSHF.L.U64.HI R9, R4, 0x2, R5\nIADD3 R9, R9, R7, RZ", "proven"},
    {"ShiftedAlone", "MOV R8, R6\nSHF.L.U64.HI R9, R4, 0x2, R5", kMemory},
    {"ShiftedBy32", "MOV R8, R6\nSHF.L.U64.HI R9, R4, 0x20, R5\nIADD3 R9, R9, R7, RZ", kMemory},
    {"ShiftedByRegister", "MOV R8, R6\nSHF.L.U64.HI R9, R4, R0, R5\nIADD3 R9, R9, R7, RZ", kMemory},
    {"ShiftedBack",
     "SHF.L.U64.HI R9, R4, 0x10, R5\nSHF.R.S32.HI R9, RZ, 0x10, R9\nIADD3 R9, R9, R7, RZ", kMemory},
    {"IndexOrParameter", "MOV R9, R7\n@P0 SHF.L.U64.HI R9, R4, 0x2, R5\nMOV R8, R6", kMemory},
    {"LeaOfIndex", "LEA R8, P0, R4, R6, 0x2\nLEA.HI.X R9, R4, R7, R5, 0x2, P0", "proven"},
    {"LeaOfSign", "LEA R8, P0, R4, R6, 0x2\nLEA.HI.X.SX32 R9, R4, R7, 0x2, P0", "proven"},
    {"LeaUnscaled", "MOV R8, R6\nLEA.HI.X R9, R4, R7, R5, 0x0, P0", kMemory},
    {"LeaFar", "MOV R8, R6\nLEA.HI R9, R4, R7, RZ, 0x1c", kMemory},
    {"LeaFarSigned", "MOV R8, R6\nLEA.HI.SX32 R9, R4, R7, 0x1c", kMemory},
    {"Pair", "IADD.64 R8, R6, 0x10", "proven"},
    {"PairOfMemory", "IADD.64 R8, R6, R4", kMemory},
    {"PairLowerHalf", "MOV R5, RZ\nIADD.64 R8, R6, R4", "proven"},
    {"DoubleLooksAtBoth", "MOV R4, R6\nF2F.F64.F64 R8, R4", kMemory},
    {"Absolute", "MOV R8, R6\nFADD R9, |R5|, R7", kMemory},
    {"OddOperand", "MOV R8, R6\nIADD3 R9, R7, 32@hi(g), RZ", kNotUnderstood},
    {"OddDestination", "MOV R8, R4\nMOV R9, R5\nMOV R 9, R7", kNotUnderstood},
    {"AnyBlank", "MOV R8, R6\nMOV R9, R7\nMOV\tR9, R5", kMemory},
    {"RegisterForTheLastTime", "MOV R8, R6\nFADD R9, |R5|.reuse, R7", kMemory},
    {"CodeBehindALabel", "MOV R8, R6\nMOV R9, R7\n.L_x_7: /*0100*/ MOV R9, R5 ;", "a line"},
    // What is made of a parameter's bits may be an address, and takes no index for an offset.
    {"MaskedParameter", "MOV R8, R6\nLOP3.LUT R9, R7, 0xffff, RZ, 0xc0, !PT", "proven"},
    {"MaskedParameterAndIndex",
     "MOV R8, R6\nLOP3.LUT R9, R7, 0xffff, RZ, 0xc0, !PT\nIMAD.WIDE R8, R4, 0x8, R8", kMemory},
    {"MaskedParameterAndParameter",
     "LOP3.LUT R1, R7, 0xffff, RZ, 0xc0, !PT\nMOV R8, R6\nIADD3 R9, R1, R7, RZ\n"
     "IMAD.WIDE R8, R4, 0x8, R8",
     "proven"},
    {"ProductOfParameter", "S2R R0, SR_TID.X\nMOV R8, R6\nIMAD R9, R0, R7, RZ", "proven"},
    {"ProductOfParameterAndIndex",
     "S2R R0, SR_TID.X\nMOV R8, R6\nIMAD R9, R0, R7, RZ\nIMAD.WIDE R8, R4, 0x8, R8", kMemory},
    {"IndexTimesParameterAlone", "SHF.L.U64.HI R0, R4, 0x2, R5\nMOV R8, R6\nIMAD R9, R0, R7, RZ",
     kMemory},
    {"WideProductByFar", "IMAD.WIDE R8, R4, 0x100, R6", "proven"},
    {"WideProductByTooFar", "IMAD.WIDE R8, R4, 0x101, R6", kMemory},
    {"ShiftedFar", "MOV R8, R6\nSHF.L.U64.HI R9, R4, 0x9, R5\nIADD3 R9, R9, R7, RZ", kMemory},
    {"ShiftedThrice",
     "SHF.L.U64.HI R11, R4, 0x8, R5\nSHF.L.U64.HI R11, R4, 0x8, R11\nMOV R8, R6\n"
     "LEA.HI.X R9, R4, R7, R11, 0x8, P0",
     "proven"},
    {"ShiftedFourTimes",
     "SHF.L.U64.HI R11, R4, 0x8, R5\nSHF.L.U64.HI R11, R4, 0x8, R11\nMOV R8, R6\n"
     "SHF.L.U64.HI R11, R4, 0x8, R11\nLEA.HI.X R9, R4, R7, R11, 0x8, P0",
     kMemory},
    {"ShiftedFourTimesAndOnceMore",
     "SHF.L.U64.HI R11, R4, 0x8, R5\nSHF.L.U64.HI R11, R4, 0x8, R11\nMOV R8, R6\n"
     "SHF.L.U64.HI R11, R4, 0x8, R11\nSHF.L.U64.HI R11, R4, 0x8, R11\n"
     "IMAD R11, R11, 0x8, RZ\nLEA.HI.X R9, R4, R7, R11, 0x8, P0",
     kMemory},
    {"PutTogetherOfBytes",
     "MOV R11, RZ\n.L_1:\nLDG.E.U8 R0, [R2.64]\nSHF.L.U64.HI R11, R10, 0x8, R11\n"
     "LEA R10, R10, R0, 0x8\n@P0 BRA `(.L_1)\nIADD3 R8, P0, R10, R6, RZ\n"
     "IADD3.X R9, R11, R7, RZ, P0, !PT",
     kMemory},
    {"PutTogetherOfMaskedBytes",
     "MOV R11, RZ\n.L_1:\nLDG.E.U8 R0, [R2.64]\nLOP3.LUT R11, R11, 0xffffff, RZ, 0xc0, !PT\n"
     "SHF.L.U64.HI R11, R10, 0x8, R11\nLEA R10, R10, R0, 0x8\n@P0 BRA `(.L_1)\n"
     "IADD3 R8, P0, R10, R6, RZ\nIADD3.X R9, R11, R7, RZ, P0, !PT",
     kMemory},
    {"PutTogetherOfDigits",
     "MOV R11, RZ\n.L_1:\nLDG.E.U8 R0, [R2.64]\nIMAD R11, R11, 0xff, RZ\n"
     "IMAD.WIDE.U32 R12, R10, 0xff, R0\nIADD3 R11, R11, R13, RZ\nMOV R10, R12\n@P0 BRA `(.L_1)\n"
     "IADD3 R8, P0, R10, R6, RZ\nIADD3.X R9, R11, R7, RZ, P0, !PT",
     kMemory},
    {"IndexScaledInALoop",
     ".L_1:\nIMAD R4, R4, 0x3, RZ\n@P0 BRA `(.L_1)\nIMAD.WIDE R8, R4, 0x8, R6", "proven"},
    {"IndexScaledByAStrideInALoop",
     ".L_1:\nIMAD R5, R5, R6, RZ\n@P0 BRA `(.L_1)\nMOV R8, R6\nLEA.HI.X R9, R4, R7, R5, 0x3, P0",
     "proven"},
    {"LeaOfTaggedPointer", "MOV R8, R6\nLEA.HI.X R9, R5, R7, RZ, 0x10, P0", kMemory},
    {"LeaOfSignWithoutCarry", "MOV R8, R6\nLEA.HI.SX32 R9, R4, R7, 0x2", kMemory},
    {"IndexInPartsOfLocalWords",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nSTL [R1], R0\nLDL.U16 R0, [R1]\nMOV R8, R6\n"
     "IADD3 R9, R0, R7, RZ",
     kMemory},
    {"IndexInLocalWords",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nSTL [R1], R0\nLDL R0, [R1]\nMOV R8, R6\n"
     "IADD3 R9, R0, R7, RZ",
     "proven"},
    {"IndexInPartsOfSharedWords",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nSTS [R10], R0\nLDS.U16 R0, [R10]\nMOV R8, R6\n"
     "IADD3 R9, R0, R7, RZ",
     kMemory},
    {"IndexInASharedMatrix",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nSTS [R10], R0\nLDSM.16.MT88 R0, [R10]\nMOV R8, R6\n"
     "IADD3 R9, R0, R7, RZ",
     kMemory},
    {"IndexInAStoredMatrix",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nSTSM.16.MT88 [R10], R0\nLDS R0, [R10]\nMOV R8, R6\n"
     "IADD3 R9, R0, R7, RZ",
     kMemory},
    {"IndexInSharedWords",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nSTS [R10], R0\nLDS R0, [R10]\nMOV R8, R6\n"
     "IADD3 R9, R0, R7, RZ",
     "proven"},
    {"IndexOfAMatrix",
     "SHF.L.U64.HI R0, R4, 0x2, R5\nMOVM.16.MT88 R0, R0\nMOV R8, R6\nIADD3 R9, R0, R7, RZ",
     kMemory},
    {"Choice", "SEL R8, R6, R2, P0\nSEL R9, R7, R3, P0", "proven"},
    {"ChoiceOfMemory", "SEL R8, R6, R4, P0\nSEL R9, R7, R5, P0", kMemory},
    {"Shuffle", "SHFL.IDX PT, R8, R4, 0x3, 0x1f\nSHFL.IDX PT, R9, R5, 0x3, 0x1f", kMemory},
    {"Variable", "LDC.64 R8, c[0x4][0x10]", "proven"},
    {"ConstantOfProgram", "LDC.64 R8, c[0x3][0x10]", kMemory},
    {"ConstantOfUnknownBank", "LDC.64 R8, cx[UR4][0x10]", kMemory},
    {"ConstantByRegister", "LDC.64 R8, c[0x0][R4]", "proven"},
    {"ConstantOfCompiler", "LDC.64 R8, c[0x2][0x10]", kNoParameter},
    {"Window", "LDC.64 R8, c[0x0][0x20]", "proven"},
    {"Unknown", "SETLMEMBASE R4", "unknown instruction"},
    {"BarrierOfARegister", "R2B.RESULT R5\nMOV R8, R6\nIADD3 R9, R5, R7, RZ",
     "unknown instruction"},
    {"NothingThatWrites", "MEMBAR R8", "unknown instruction"},
    {"BothGuards", "MOV R8, R6\nMOV R9, R5\n@P0 MOV R9, R7\n@!P0 MOV R9, R3", "proven"},
    {"OneGuard", "MOV R8, R6\nMOV R9, R5\n@P0 MOV R9, R7", kMemory},
    {"SameGuard", "MOV R8, R6\nMOV R9, R5\n@P0 MOV R9, R7\n@P0 LDG.E R0, [R8.64]\nMOV R9, R7",
     "proven"},
    {"GuardThatChanged",
     "MOV R8, R6\nMOV R9, R5\n@P0 MOV R9, R7\nISETP.NE.AND P0, PT, R0, RZ, PT\n"
     "@P0 LDG.E R0, [R8.64]\nMOV R9, R7",
     kMemory},
    {"GuardsThatAllChanged",
     "MOV R8, R6\nMOV R9, R5\n@P0 MOV R9, R7\nR2P PR, R0, 0x7f\n@P0 LDG.E R0, [R8.64]\nMOV R9, R7",
     kMemory},
    {"Shared", "STS.64 [R0], R6\nLDS.64 R8, [R0]", "proven"},
    {"SharedOfMemory", "STS.64 [R0], R4\nLDS.64 R8, [R0]", kMemory},
    {"SharedLater", "LDS.64 R8, [R0]\nLDG.E R1, [R8.64]\nSTS.64 [R0], R4\nMOV R9, R7", kMemory},
    {"SharedLaterStill",
     "LDS.64 R8, [R0]\nLDG.E R1, [R8.64]\nSHF.L.U64.HI R11, R8, 0x2, R9\nSTS [R0], R11\n"
     "STS.64 [R0], R6\nMOV R9, R7",
     kScaledParameter},
    {"SharedByGeneric",
     "S2UR UR8, SR_SWINHI\nSTS.64 [R0], R6\nST.E.64 [R6.64], R4\nLDS.64 R8, [R0]", kMemory},
    {"SharedByGenericOfANamelessRegister",
     "S2UR UR8, SR47\nSTS.64 [R0], R6\nST.E.64 [R6.64], R4\nLDS.64 R8, [R0]", kMemory},
    {"SharedByGenericOfTheBank",
     "LDC.64 R10, c[0x0][0x18]\nSTS.64 [R0], R6\nST.E.64 [R6.64], R4\nLDS.64 R8, [R0]", kMemory},
    {"SharedWithoutAWindow",
     "LDC R1, c[0x0][0x28]\nULDC.64 UR4, c[0x0][0x208]\nLDC R10, c[0x0][0xc]\nSTS.64 [R0], R6\n"
     "ST.E.64 [R6.64], R4\nLDS.64 R8, [R0]",
     "proven"},
    {"SharedByCopy", "STS.64 [R0], R6\nLDGSTS.E [R0], [R6.64]\nLDS.64 R8, [R0]", kMemory},
    {"SharedByAtomic", "STS.64 [R0], R6\nATOMS.EXCH.64 R10, [R0], R4\nLDS.64 R8, [R0]", kMemory},
    {"SharedMatrices", "STS.64 [R0], R6\nMOV R4, R6\nSTSM.16.M88.2 [R0], R4\nLDS.64 R8, [R0]",
     kMemory},
    {"ConstantOfAChosenBank", "LDC.64.IS R8, c[0x0][R0+0x210]", kMemory},
    {"ConstantOfAChosenBankToo", "LDC.64.ISL R8, c[0x0][R0+0x210]", kMemory},
    {"CopyByMemory", "LDGSTS.E [R0], [R4.64]", kMemory},
    {"BulkIn", "R2UR UR4, R6\nR2UR UR5, R7\nUBLKCP.S.G [UR8], [UR4], UR10\nMOV R9, R7", "proven"},
    {"BulkInOfMemory", "R2UR UR4, R4\nR2UR UR5, R5\nUBLKCP.S.G [UR8], [UR4], UR10\nMOV R9, R7",
     kMemory},
    {"BulkOutOfMemory", "R2UR UR4, R4\nR2UR UR5, R5\nUBLKCP.G.S [UR4], [UR8], UR10\nMOV R9, R7",
     kMemory},
    {"TensorMap", "ULDC.64 UR8, c[0x0][0x198]\nUTMALDG.2D [UR4], [UR8], desc[UR10]\nMOV R9, R7",
     "proven"},
    {"TensorMapOfMemory",
     "ULDC.64 UR10, c[0x0][0x198]\nULDC.64 UR8, c[0x0][0x210]\n"
     "UTMALDG.2D [UR4], [UR8], desc[UR10]\nMOV R9, R7",
     "a tensor map that is no parameter"},
    {"TensorMapOfConstants", "ULDC.64 UR8, c[0x0][0xd0]\nUTMASTG.2D [UR4], [UR8]\nMOV R9, R7",
     "a tensor map that is no parameter"},
    {"TensorMapByTheBank",
     "ULDC.64 UR8, c[0x0][0xc0]\nUIADD3.64 UR8, UR8, 0x2c0, URZ\nUTMALDG.3D [UR4], [UR8]\nMOV R9, "
     "R7",
     "proven"},
    {"TensorMapBeforeTheBank", "ULDC.64 UR8, c[0x0][0xb8]\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapBehindTheBank", "ULDC.64 UR8, c[0x0][0xc8]\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapOfWideLoad",
     "LDC.128 R12, c[0x0][0xc0]\nR2UR UR8, R12\nR2UR UR9, R13\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     "proven"},
    {"TensorMapOfWideLoadBehind",
     "LDC.128 R12, c[0x0][0xc0]\nR2UR UR8, R14\nR2UR UR9, R15\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapByAMaskedDistance",
     "ULDC.64 UR6, c[0x0][0x210]\nULDC.64 UR8, c[0x0][0xc0]\nULOP3.LUT UR6, UR6, UR10, URZ, 0xc0, "
     "!UPT\nULOP3.LUT UR7, UR7, UR11, URZ, 0xc0, !UPT\nUIADD3.64 UR8, UR8, UR6, URZ\nUTMALDG.3D "
     "[UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapByOtherBank", "ULDC.64 UR8, c[0x3][0xc0]\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapByRegister", "ULDC.64 UR8, c[0x0][UR6+0xc0]\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapBehindAParameter",
     "ULDC.64 UR8, c[0x0][0xc0]\nULDC.64 UR10, c[0x0][0x210]\nUIADD3.64 UR8, UR8, UR10, URZ\n"
     "UTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"TensorMapByTheBankOrMemory",
     "ULDC.64 UR8, c[0x0][0xc0]\n@P0 R2UR UR9, R5\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7", kNoMap},
    {"LoadedByTheBank", "LDC.64 R8, c[0x0][0xc0]\nLDG.E.64 R8, desc[UR4][R8.64+0x210]", kMemory},
    {"WaitsForAGroup", "WARPGROUP.DEPBAR.LE gsb0, 0x0\nMOV R8, R6\nMOV R9, R7", "proven"},
    {"GroupThatIsNone", "WARPGROUP.DEPBAR.LE gsb, 0x0\nMOV R9, R7", kNotUnderstood},
    {"GroupOfTwoDigits", "WARPGROUP.DEPBAR.LE gsb00, 0x0\nMOV R9, R7", kNotUnderstood},
    {"GroupByLetter", "WARPGROUP.DEPBAR.LE gsbR, 0x0\nMOV R9, R7", kNotUnderstood},
    {"GroupAndARegister", "WARPGROUP.DEPBAR.LE R8, gsb0\nMOV R9, R7", "unknown instruction"},
    {"ProductOfAGroup",
     "MOV R9, R7\nHGMMA.64x64x16.F32.BF16 R24, gdesc[UR16].tnspA, R24, !UP1, gsb0", "proven"},
    {"ProductOfAGroupOverAnAddress",
     "MOV R9, R7\nHGMMA.64x16x16.F32.BF16 R2, gdesc[UR16].tnspA, R2, !UP1, gsb0", kMemory},
    {"CarryOfASize",
     "LDC R0, c[0x0][0x0]\nIMAD R0, R0, 0x3, RZ\nSHF.R.U32.HI R0, RZ, 0x1f, R0\nMOV R8, R6\n"
     "IADD3.X R9, R7, R0, RZ, P0, !PT",
     "proven"},
    {"CarryOfTheLastSize",
     "LDC.64 R0, c[0x0][0x10]\nSHF.R.U32.HI R1, RZ, 0x1f, R1\nMOV R8, R6\n"
     "IADD3.X R9, R7, R1, RZ, P0, !PT\nIMAD.WIDE R8, R4, 0x8, R8",
     "proven"},
    {"CarryOfWhatIsNoSize",
     "LDC R0, c[0x0][0x18]\nIMAD R0, R0, 0x3, RZ\nSHF.R.U32.HI R0, RZ, 0x1f, R0\nMOV R8, R6\n"
     "IADD3.X R9, R7, R0, RZ, P0, !PT",
     "proven"},
    {"CarryOfWhatIsBehindSizes",
     "LDC.128 R12, c[0x0][0x10]\nIMAD R0, R15, 0x3, RZ\nSHF.R.U32.HI R0, RZ, 0x1f, R0\nMOV R8, R6\n"
     "IADD3.X R9, R7, R0, RZ, P0, !PT",
     "proven"},
    {"CarryOfAConstantByRegister",
     "LDC R0, c[0x0][R4]\nIMAD R0, R0, 0x3, RZ\nSHF.R.U32.HI R0, RZ, 0x1f, R0\nMOV R8, R6\n"
     "IADD3.X R9, R7, R0, RZ, P0, !PT",
     "proven"},
    {"CarryOfAConstant",
     "LDC R0, c[0x3][0x0]\nSHF.R.U32.HI R0, RZ, 0x1f, R0\nMOV R8, R6\nIADD3.X R9, R7, R0, RZ, P0, "
     "!PT",
     kMemory},
    {"CarryOfMemory",
     "IMAD R0, R5, 0x3, RZ\nSHF.R.U32.HI R0, RZ, 0x1f, R0\nMOV R8, R6\n"
     "IADD3.X R9, R7, R0, RZ, P0, !PT",
     kMemory},
    {"SizesAlone", "LDC.64 R8, c[0x0][0x10]", kNoParameter},
    {"SizeAndIndex", "LDC.64 R8, c[0x0][0x0]\nIMAD.WIDE R8, R4, 0x8, R8", kMemory},
    {"ScaledParameterAlone", "SHF.L.U64.HI R9, R6, 0x2, R7\nMOV R8, R6", kScaledParameter},
    {"BitsOfAScaledParameter",
     "SHF.L.U64.HI R9, R6, 0x2, R7\nLOP3.LUT R9, R9, 0x7fffffff, RZ, 0xc0, !PT\nMOV R8, R6\n"
     "IADD3 R9, R9, R7, RZ",
     "proven"},
    {"BitsOfAScaledParameterAlone",
     "SHF.L.U64.HI R9, R6, 0x2, R7\nLOP3.LUT R9, R9, 0x7fffffff, RZ, 0xc0, !PT\nMOV R8, R6",
     kScaledParameter},
    {"BitsOfAScaledIndex",
     "SHF.L.U64.HI R9, R4, 0x2, R5\nLOP3.LUT R9, R9, 0x7fffffff, RZ, 0xc0, !PT\nMOV R8, R6\n"
     "IADD3 R9, R9, R7, RZ",
     kMemory},
    {"AddressAndScaledRegisters",
     "ULDC.64 UR8, c[0x0][0x220]\nUSHF.L.U64.HI UR9, UR8, 0x1, UR9\nLDG.E R0, [R6.64+UR8]\n"
     "MOV R8, R6\nMOV R9, R7",
     "proven"},
    {"AddressAndScaledIndex",
     "SHF.L.U64.HI R9, R4, 0x1, R5\nR2UR UR9, R9\nLDG.E R0, [R6.64+UR8]\nMOV R8, R6\nMOV R9, R7",
     "proven"},
    {"AddressAndMemory", "R2UR UR9, R5\nLDG.E R0, [R6.64+UR8]\nMOV R8, R6\nMOV R9, R7", kMemory},
    {"ScaledRegisterAlone",
     "ULDC.64 UR8, c[0x0][0x220]\nUSHF.L.U64.HI UR9, UR8, 0x1, UR9\nLDG.E R0, [UR8]\nMOV R8, R6\n"
     "MOV R9, R7",
     kScaledParameter},
    {"ShiftedDown", "IMAD.WIDE R10, R6, 0x8, RZ\nMOV R8, R6\nLEA.HI.X R9, R11, R7, RZ, 0x1d, P0",
     "proven"},
    {"MemoryShiftedDown", "MOV R8, R6\nLEA.HI.X R9, R5, R7, RZ, 0x1d, P0", kMemory},
    {"ShiftedDownOntoMemory", "MOV R8, R6\nLEA.HI.X R9, R7, R5, RZ, 0x1d, P0", kMemory},
    {"PairShiftedByMost", "MOV R8, R6\nLEA.HI.X R9, R4, R7, R5, 0x1d, P0", kMemory},
    {"WindowOfSharedMemory", "S2UR UR8, SR_SWINHI\nMOV R8, R6\nMOV R9, UR8", "proven"},
    {"WindowOfLocalMemory", "S2R R9, SR_LWINHI\nMOV R8, R6", "proven"},
    {"NoWindow", "S2R R9, SR_SWINLO\nMOV R8, R6", kNoParameter},
    {"WindowIsNoTensorMap", "S2UR UR9, SR_SWINHI\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7", kNoMap},
    {"Schedule",
     "MOV R8, R6                 &req={0}                 ?WAIT7_END_GROUP\nMOV R9, R7 "
     "&wr_early=0x0 ?trans1",
     "proven"},
    {"ScheduleOfMemory", "MOV R8, R6 &req={0} &wr=0x1 ?WAIT7_END_GROUP\nMOV R9, R5 ?WAIT1",
     kMemory},
    {"NoSchedule", "MOV R8, R6\nMOV R9, R7 !WAIT1", kNotUnderstood},
    {"NoScheduleWithoutAName", "MOV R8, R6\nMOV R9, R7 &={5}", kNotUnderstood},
    {"NoScheduleWithoutANumber", "MOV R8, R6\nMOV R9, R7 &R5", kNotUnderstood},
    {"NoScheduleByItsBegin", "MOV R8, R6\nMOV R9, R7 ?R5", kNotUnderstood},
    {"AnOperandLikeASchedule", "MOV R8, R6\nIADD3 R9, R7, RZ, ?WAIT5", kNotUnderstood},
    {"MapAtAScaledDistance",
     "ULDC.64 UR8, c[0x0][0xc0]\nULDC.64 UR6, c[0x0][0x220]\nUSHF.L.U64.HI UR7, UR6, 0x3, UR7\n"
     "UIADD3 UR9, UR9, UR7, URZ\nUTMALDG.3D [UR4], [UR8]\nMOV R9, R7",
     kNoMap},
    {"IndexShiftedDown", "SHF.L.U64.HI R11, R4, 0x8, R5\nMOV R8, R6\nLEA.HI R9, R11, R7, RZ, 0x18",
     kMemory},
    {"UpperOfAPairShiftedFar", "MOV R8, R6\nLEA.HI R9, R6, R7, R5, 0x1d", kMemory},
    {"Atomic", "ATOMG.E.EXCH.64 PT, R8, [R6.64], R2", kMemory},
    {"AtomicVector", "MOV R9, R7\nATOMG.E.ADD.F32x4 PT, R6, [R6.64], R2", kMemory},
    {"AtomicByMemory", "RED.E.ADD [R4.64], R0", kMemory},
    {"MatrixOfDoubles", "MOV R9, R7\nDMMA.16x8x16 R2, R10, R20, R2", kMemory},
    {"Stack", "STL.64 [R1+0x8], R6\nLDL.64 R8, [R1+0x8]", "proven"},
    {"StackOfMemory", "STL.64 [R1+0x8], R4\nLDL.64 R8, [R1+0x8]", kMemory},
    {"StackElsewhere", "STL.64 [R1], R4\nSTL.64 [R1+0x8], R6\nLDL.64 R8, [R1+0x8]", "proven"},
    {"StackSomewhere", "STL.64 [R1+0x8], R6\nSTL [R0], R4\nLDL.64 R8, [R1+0x8]", kMemory},
    {"StackOverwritten", "STL.64 [R1], R4\nSTL.64 [R1], R6\nLDL.64 R8, [R1]", "proven"},
    {"StackOverwrittenPartly", "STL.64 [R1], R4\nSTL.U8 [R1+0x4], R6\nLDL.64 R8, [R1]", kMemory},
    {"StackOverwrittenPerhaps", "STL.64 [R1], R4\n@P0 STL.64 [R1], R6\nLDL.64 R8, [R1]", kMemory},
    {"StackMoved", "STL.64 [R1], R4\nIADD3 R1, R1, 0x10, RZ\nLDL.64 R8, [R1+0x30]", kMemory},
    {"StackAtAScaledPlace", "STL.64 [R1+0x8], R4\nSTL.64 [R1], R6\nLDL.64 R8, [R1.X4]", kMemory},
    {"StackMovedByABarrier",
     "STL.64 [R1+0x8], R4\nSTL.64 [R1], R6\nBMOV.64 R0, ATEXIT_PC\nLDL.64 R8, [R1]", kMemory},
    {"StackMovedByNoBarrier",
     "STL.64 [R1+0x8], R4\nSTL.64 [R1], R6\nBMOV.32 R0, B0\nLDL.64 R8, [R1]", "proven"},
    {"StackByGeneric", "S2R R10, SR_LWINHI\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]",
     kMemory},
    {"StackByGenericOfItsBegin",
     "LDC R10, c[0x0][0x28]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]", kMemory},
    {"StackByGenericOfTheDescriptor",
     "LDC.64 R10, c[0x0][0x208]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]", kMemory},
    {"StackByGenericOfAnyBank",
     "LDC.64 R10, cx[UR4][0x220]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]", kMemory},
    {"StackByGenericByAtomic",
     "S2R R10, SR_LWINHI\nSTL.64 [R1], R6\nRED.E.ADD.64 [R6.64], R4\nLDL.64 R8, [R1]", kMemory},
    {"StackByGenericByARegister",
     "MOV R12, 0x20\nLDC.64 R10, c[0x0][R12]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\n"
     "LDL.64 R8, [R1]",
     kMemory},
    {"StackByGenericBelow",
     "LDC.64 R10, c[0x0][R12+-0x10]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]",
     kMemory},
    {"StackByGenericBehindTheSizes",
     "LDC.128 R12, c[0x0][0x10]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]", kMemory},
    {"StackByGenericOfAnotherBegin",
     "MOV R1, c[0x0][0x20]\nMOV R10, R1\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]",
     kMemory},
    {"StackByGenericOfASum",
     "IMAD R1, R0, R0, c[0x0][0x28]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]",
     kMemory},
    {"StackOfAnArrayOfParameters",
     "LDC.64 R10, c[0x0][R12+0x220]\nSTL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]",
     "proven"},
    {"StackWithoutAWindow", "STL.64 [R1], R6\nST.E.64 [R6.64], R4\nLDL.64 R8, [R1]", "proven"},
    {"ConditionalEnd", "MOV R9, R5\nEXIT P1", kMemory},
    {"End", "MOV R9, R5\nEXIT\nMOV R9, R7", "proven"},
    {"Branch", "MOV R9, R5\nBRA `(.L_1)\nLDG.E R0, [R8.64]\n.L_1:\nMOV R9, R7", "proven"},
    {"BranchThatMayGoOn", "MOV R9, R5\nBRA P0, `(.L_1)\nLDG.E R0, [R8.64]\n.L_1:\nMOV R9, R7",
     kMemory},
    {"BranchOfAny", "MOV R9, R5\nBRA.U.ANY `(.L_1)\nLDG.E R0, [R8.64]\n.L_1:\nMOV R9, R7", kMemory},
    {"BranchToNowhere", "BRA `(.L_2)", "it is not known where it goes"},
    {"BranchByRegister", "BRX R4 -0x10", "it is not known where it goes"},
    {"BranchByList",
     "BRX R0 -0x10 (*\"BRANCH_TARGETS .L_1,.L_2\"*)\n.L_1:\nMOV R9, R5\nBRA `(.L_3)\n.L_2:\n"
     "MOV R9, R7\n.L_3:",
     kMemory},
    {"Loop", "MOV R9, R7\n.L_1:\nLDG.E.64 R8, [R8.64]\n@P0 BRA `(.L_1)\nMOV R9, R7", kMemory},
    {"Meeting", "MOV R9, R5\nBSSY B0, `(.L_1)\nBSYNC B0\nLDG.E R0, [R8.64]\n.L_1:\nMOV R9, R7",
     "proven"},
    {"MeetingAnywhere",
     "BSSY B0, `(.L_1)\nBMOV.32 B0, R0\nMOV R9, R5\nBSYNC B0\n.L_2:\nEXIT\n.L_1:", kMemory},
    {"BarrierOfEndedThreads", "BMOV.32 ATEXIT_PC, R4", "unknown instruction"},
    {"Called",
     "CALL.REL.NOINC `($k$f)\nBRA `(.L_1)\n$k$f:\nMOV R9, R7\nRET.REL.NODEC R20 `(k)\n.L_1:",
     "proven"},
    {"CalledToLoad",
     "MOV R9, R7\nCALL.REL.NOINC `($k$f)\nBRA `(.L_1)\n$k$f:\nMOV R9, R5\nRET.REL.NODEC R20 `(k)\n"
     ".L_1:",
     kMemory},
    {"CodeInCommon",
     "CALL.REL.NOINC `($k$f)\nCALL.REL.NOINC `($k$g)\nBRA `(.L_1)\n$k$g:\nNOP\nMOV R0, R0\n$k$f:\n"
     "MOV R9, R7\nRET.REL.NODEC R20 `(k)\n.L_1:",
     "two functions have code in common"},
    {"ReturnOfNoCall", "RET.REL.NODEC R20 `(k)", "a return that nothing called"},
    {"CallByRegister", "CALL.ABS.NOINC R4", "a call that is not known"},
    {"CallOfTheEnd",
     "MOV R10, 0x0\nLDC.64 R12, c[0x4][R10]\nMOV R9, R5\nCALL.ABS.NOINC R12\nLDG.E R0, [R4.64]",
     "proven"},
    {"CallOfAnother", "LDC.64 R12, c[0x4][0x8]\nCALL.ABS.NOINC R12", "a call that is not known"},
    {"CallOfTheEndPerhaps", "@P0 LDC.64 R12, c[0x4][0x0]\nCALL.ABS.NOINC R12",
     "a call that is not known"},
    {"NoEnd", "MOV R9, R7\n@P0 BRA `(.L_1)\nEXIT\n.L_1:\nMOV R0, R0\nMOV R0, R0\nBRA `(.L_1)",
     "proven"},
};
INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(kRules),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(SassTest, WhatIsNotUnderstoodProvesNothing) {
  EXPECT_EQ(Told("EXIT"), "proven");
  EXPECT_EQ(Told(""), "no code");
  EXPECT_EQ(Told("MOV R0, R1"), "its code has no end");
  for (const int version : {0, 70, 122}) {
    EXPECT_EQ(Told("EXIT", version), absl::StrCat("unknown architecture: ", version));
  }
  EXPECT_EQ(Told("a:\na:\nEXIT"), "a line that is not understood: a");
  EXPECT_EQ(ReadKernels(TextOf("EXIT") + "what\n")[0].why, "a line that is not understood: what");
  EXPECT_EQ(ReadKernels(TextOf("EXIT") + "/*0010*/ .byte 1\n")[0].why,
            "a line that is not understood: /*0010*/ .byte 1");
}

TEST(SassTest, ParametersBeginWhereTheArchitectureHasThem) {
  for (const auto& [version, before] : {std::pair{75, "0x158"}, {90, "0x208"}, {100, "0x378"}}) {
    const std::string rows =
        absl::StrCat("ULDC.64 UR4, c[0x0][", before, "]\nUTMACCTL.PF [UR4]\nEXIT");
    EXPECT_EQ(Told(rows, version), "a tensor map that is no parameter: UTMACCTL.PF [UR4]");
  }
  EXPECT_EQ(Told("ULDC.64 UR4, c[0x0][0x348]\nUTMACCTL.PF [UR4]\nEXIT", 100), "proven");
}

TEST(SassTest, CubinsOfAnOlderFormSayTheirArchitectureElsewhere) {
  const auto told = [](std::string_view head) {
    const std::string code =
        "\n\t.section\t.text.k,\"ax\"\n\t.other k,@\"STO_CUDA_ENTRY\"\nk:\n /*0000*/ EXIT ;\n";
    return ReadKernels(absl::StrCat(head, code))[0].why;
  };
  const std::string flags = "\t.headerflags\t@\"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS ";
  EXPECT_EQ(told(flags + "EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)\""), "");
  EXPECT_EQ(told(flags + "EF_CUDA_SM30 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM30)\""),
            "unknown architecture: 30");
  EXPECT_EQ(told(flags + "EF_CUDA_SM\""), "unknown architecture: 0");
  EXPECT_EQ(told(flags + "\""), "unknown architecture: 0");
  EXPECT_EQ(told("EF_CUDA_SM90"), "unknown architecture: 0");
  EXPECT_EQ(told("\t.target\tsm_30\n" + flags + "EF_CUDA_SM90\""), "unknown architecture: 30");
}

TEST(SassTest, TheBankBeginsAsSaidWhereThatWasSeen) {
  const std::string map =
      absl::StrCat(kBegin, "ULDC.64 UR8, c[0x0][0xc0]\nUTMACCTL.PF [UR8]\nEXIT");
  const std::string size =
      absl::StrCat(kBegin,
                   "LDC R0, c[0x0][0x0]\nIMAD R0, R0, 0x3, RZ\nSHF.R.U32.HI R0, RZ, 0x1f, R0\n"
                   "MOV R8, R6\nIADD3.X R9, R7, R0, RZ, P0, !PT",
                   kEnd);
  EXPECT_EQ(Told(map, 90), "proven");
  EXPECT_EQ(Told(size, 90), "proven");
  for (const int version : {75, 80, 89, 100, 120}) {
    EXPECT_TRUE(absl::StartsWith(Told(map, version), kNoMap)) << version;
  }
}

TEST(SassTest, ACallOfAnOwnFunctionIsNoEnd) {
  const std::string text = TextOf("LDC.64 R12, c[0x4][0x0]\nCALL.ABS.NOINC R12\nEXIT");
  EXPECT_TRUE(ReadKernels(text)[0].proven);
  EXPECT_FALSE(ReadKernels(text + "\t.section\t.text.__assertfail,\"ax\"\n")[0].proven);
}

}  // namespace
}  // namespace vramspan::prove
