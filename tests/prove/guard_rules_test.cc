// Predicates that code puts by in registers: what was written under one is known when it is back,
// and only then.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/prove/sass_rows.h"
#include "tools/prove/code.h"

namespace vramspan::prove {
namespace {

// R4 and R5 come from memory, R6 and R7 are a parameter. R9 is the upper half of an address, and
// that of the parameter where P6 holds.
constexpr std::string_view kWritten =
    "LDC.64 R2, c[0x0][0x210]\nLDG.E.64 R4, desc[UR4][R2.64]\nLDC.64 R6, c[0x0][0x218]\n"
    "MOV R8, R6\nMOV R9, R5\nISETP.GE.AND P6, PT, R4, 0x7, PT\n@P6 MOV R9, R7\n";
// P6 is another.
constexpr std::string_view kOther = "ISETP.GE.AND P6, PT, R4, 0x8, PT\n";
constexpr std::string_view kUsed = "\n@P3 LDG.E R0, desc[UR4][R8.64]\nEXIT";

bool IsProven(std::string_view before, std::string_view behind) {
  std::string text =
      "\t.target\tsm_90\n\t.section\t.text.k,\"ax\",@progbits\n"
      "\t.other k,@\"STO_CUDA_ENTRY STV_DEFAULT\"\nk:\n.text.k:\n";
  AppendRows(absl::StrCat(kWritten, before, kOther, behind, kUsed), &text);
  const std::vector<KernelReading> readings = ReadKernels(text);
  EXPECT_EQ(readings.size(), 1u);
  if (readings.size() != 1) return false;
  if (readings[0].proven) return true;
  // For no other reason than the one that is looked for.
  EXPECT_TRUE(absl::StartsWith(readings[0].why, "an address from memory: @P3 LDG"))
      << readings[0].why;
  return false;
}

struct Saved {
  const char* name;
  const char* before;  // What becomes of P6 before it is another,
  const char* behind;  // and what P3 is made of.
  bool proven;
};

class SavedGuardTest : public testing::TestWithParam<Saved> {};

TEST_P(SavedGuardTest, IsKnownAgain) {
  EXPECT_EQ(IsProven(GetParam().before, GetParam().behind), GetParam().proven);
}

#define SAVE "P2R R20, PR, RZ, 0x40\n"
#define ASK "ISETP.NE.AND P3, PT, R20, RZ, PT"
#define CLEAR_BIT "LOP3.LUT R20, R20, 0xffffffef, RZ, 0xc0, !PT\n"
#define SAVE_BIT CLEAR_BIT "@P6 LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n"
#define ASK_BIT "LOP3.LUT P3, RZ, R20, 0x10, RZ, 0xc0, !PT"

constexpr Saved kSaved[] = {
    {"Nowhere", "", ASK, false},
    {"InARegister", SAVE, ASK, true},
    {"AndReused", SAVE, "ISETP.NE.AND P3, PT, R20.reuse, RZ, PT", true},
    {"AskedForZero", SAVE, "ISETP.EQ.AND P3, PT, R20, RZ, PT", false},
    {"AskedForZeroAndNegated", SAVE,
     "ISETP.EQ.AND P2, PT, R20, RZ, PT\nP2R R21, PR, RZ, 0x4\nISETP.GE.AND P2, PT, R4, 0x8, PT\n"
     "ISETP.EQ.AND P3, PT, R21, RZ, PT",
     true},
    {"ByWayOfAnother", SAVE,
     "ISETP.NE.AND P2, PT, R20, RZ, PT\nP2R R21, PR, RZ, 0x4\nMOV R20, R4\n"
     "ISETP.GE.AND P2, PT, R4, 0x8, PT\nISETP.NE.AND P3, PT, R21, RZ, PT",
     true},
    {"InAnotherRegister", "P2R R21, PR, RZ, 0x40\n", ASK, false},
    {"OfAnotherPredicate", "P2R R20, PR, RZ, 0x20\n", ASK, false},
    {"OfTwo", "P2R R20, PR, RZ, 0x60\n", ASK, false},
    {"OfNone", "P2R R20, PR, RZ, 0x0\n", ASK, false},
    {"OfNoPredicate", "P2R R20, PR, RZ, 0x80\n", ASK, false},
    {"BesideOtherBits", "P2R R20, PR, R21, 0x40\n", ASK, false},
    {"InAByte", "P2R.B1 R20, PR, RZ, 0x40\n", ASK, false},
    {"Perhaps", "@P1 " SAVE, ASK, false},
    {"AskedPerhaps", SAVE, "@P1 " ASK, false},
    {"AskedWithAnother", SAVE, "ISETP.NE.AND P3, PT, R20, RZ, P1", false},
    {"AskedOrAnother", SAVE, "ISETP.NE.OR P3, PT, R20, RZ, P1", false},
    {"ComparedWithAnother", SAVE, "ISETP.NE.AND P3, PT, R20, R4, PT", false},
    {"ComparedOtherwise", SAVE, "ISETP.GE.AND P3, PT, R20, RZ, PT", false},
    {"OfTheNegative", SAVE, "ISETP.NE.AND P3, PT, -R20, RZ, PT", false},
    {"Twofold", SAVE, "ISETP.NE.AND P3, P2, R20, RZ, PT", false},
    {"Overwritten", SAVE "MOV R20, R4\n", ASK, false},
    {"OverwrittenLater", SAVE, "MOV R20, R4\n" ASK, false},
    {"OverwrittenPerhaps", SAVE, "@P1 MOV R20, R4\n" ASK, false},
    {"AddressOverwritten", SAVE, "MOV R9, R5\n" ASK, false},
    {"AddressOverwrittenPerhaps", SAVE, "@P1 MOV R9, R5\n" ASK, false},
    {"AddressOverwrittenFirst", SAVE "MOV R9, R5\n", ASK, false},
    {"BeforeItWasAnother", "ISETP.GE.AND P6, PT, R4, 0x9, PT\n" SAVE, ASK, false},
    {"OverwrittenPredicate", SAVE, ASK "\nISETP.GE.AND P3, PT, R4, 0x9, PT", false},
    {"InTheAddress", "P2R R9, PR, RZ, 0x40\n", "ISETP.NE.AND P3, PT, R9, RZ, PT\nMOV R9, R5",
     false},
    {"AllPredicatesAreOthers", SAVE "R2P PR, R21, 0x7f\n", ASK, true},
    {"NotSavedWhileAllAreOthers", "R2P PR, R21, 0x7f\n" SAVE, ASK, false},
    {"OnOneWayOnly", "BRA P1, `(.L_1)\n" SAVE ".L_1:\n", ASK, false},
    {"OnBothWays", "BRA P1, `(.L_1)\n" SAVE "BRA `(.L_2)\n.L_1:\n" SAVE ".L_2:\n", ASK, true},
    {"OnBothWaysAndBeyond", SAVE, "BRA P1, `(.L_1)\nNOP\n.L_1:\n" ASK, true},
    {"LostOnOneWay", SAVE, "BRA P1, `(.L_1)\nMOV R20, R4\n.L_1:\n" ASK, false},
    {"WrittenOnOneWay", SAVE, "BRA P1, `(.L_1)\nMOV R9, R5\n.L_1:\n" ASK, false},
    {"InABit", SAVE_BIT, ASK_BIT, true},
    {"InABitThatWasSet", "@P6 LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n", ASK_BIT, false},
    {"InABitThatIsNotCleared",
     "LOP3.LUT R20, R20, 0xffffffdf, RZ, 0xc0, !PT\n"
     "@P6 LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n",
     ASK_BIT, false},
    {"InABitThatIsClearedPerhaps", "@P1 " SAVE_BIT, ASK_BIT, false},
    {"InAnotherBit", SAVE_BIT, "LOP3.LUT P3, RZ, R20, 0x20, RZ, 0xc0, !PT", false},
    {"InTwoBits", SAVE_BIT, "LOP3.LUT P3, RZ, R20, 0x30, RZ, 0xc0, !PT", false},
    {"InAnyBit", SAVE_BIT, ASK, false},
    {"BesideABit",
     SAVE_BIT "LOP3.LUT R20, R20, 0xffffffdf, RZ, 0xc0, !PT\n"
              "@P5 LOP3.LUT R20, R20, 0x20, RZ, 0xfc, !PT\n",
     ASK_BIT, true},
    {"BesideABitLater", SAVE_BIT, "@P5 LOP3.LUT R20, R20, 0x20, RZ, 0xfc, !PT\n" ASK_BIT, true},
    {"BitSetByAnother", SAVE_BIT "@P5 LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n", ASK_BIT, false},
    {"BitSetLater", SAVE_BIT, "@P5 LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n" ASK_BIT, false},
    {"BitSetAlways", SAVE_BIT "LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n", ASK_BIT, false},
    {"BitsSetByARegister", SAVE_BIT, "LOP3.LUT R20, R20, R4, RZ, 0xfc, !PT\n" ASK_BIT, false},
    {"BitsSetByAUniformOne", SAVE_BIT, "LOP3.LUT R20, R20, UR4, RZ, 0xfc, !PT\n" ASK_BIT, false},
    {"BitsSetByAParameter", SAVE_BIT, "LOP3.LUT R20, R20, c[0x0][0x220], RZ, 0xfc, !PT\n" ASK_BIT,
     false},
    {"AllBitsSet", SAVE_BIT, "LOP3.LUT R20, R20, -0x1, RZ, 0xfc, !PT\n" ASK_BIT, false},
    {"BitsClearedByARegister", SAVE_BIT, "LOP3.LUT R20, R20, R4, RZ, 0xc0, !PT\n" ASK_BIT, false},
    {"BitsClearedByAUniformOne", SAVE_BIT, "LOP3.LUT R20, R20, UR4, RZ, 0xc0, !PT\n" ASK_BIT,
     false},
    {"BitsSetByARegisterBefore", SAVE_BIT "LOP3.LUT R20, R20, R4, RZ, 0xfc, !PT\n", ASK_BIT, false},
    {"InTheUpperOfAPair", SAVE "BMOV.64 R19, ATEXIT_PC\n", ASK, false},
    {"BitCleared", SAVE_BIT, CLEAR_BIT ASK_BIT, false},
    {"BitClearedPerhaps", SAVE_BIT, "@P1 " CLEAR_BIT ASK_BIT, false},
    {"BitFlipped", SAVE_BIT, "LOP3.LUT R20, R20, 0x10, RZ, 0x3c, !PT\n" ASK_BIT, false},
    {"OtherBitsFromAnother", SAVE_BIT, "LOP3.LUT R20, R21, 0x20, RZ, 0xfc, !PT\n" ASK_BIT, false},
    {"AndAThird", SAVE_BIT, "LOP3.LUT R20, R20, 0x20, R21, 0xfc, !PT\n" ASK_BIT, false},
    {"WithoutABit", CLEAR_BIT "@P6 LOP3.LUT R20, R20, 0x10, RZ, 0xc0, !PT\n", ASK_BIT, false},
    {"BitOfTheOpposite", CLEAR_BIT "@!P6 LOP3.LUT R20, R20, 0x10, RZ, 0xfc, !PT\n", ASK_BIT, false},
    {"BitAskedByALook", SAVE_BIT, "LOP3.LUT P3, RZ, R20, 0x10, RZ, 0xfc, !PT", false},
    {"BitAskedWithAnother", SAVE_BIT, "LOP3.LUT P3, RZ, R20, 0x10, R4, 0xc8, !PT", false},
    {"BitAskedOrAnother", SAVE_BIT, "LOP3.LUT P3, RZ, R20, 0x10, RZ, 0xc0, P1", false},
    {"BitWhileAllAreOthers", SAVE_BIT "R2P PR, R21, 0x7f\n", ASK_BIT, true},
};
INSTANTIATE_TEST_SUITE_P(All, SavedGuardTest, testing::ValuesIn(kSaved),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace vramspan::prove
