// Code that takes addresses from a table where a word of its parameters says so, and else none.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "tests/prove/sass_rows.h"
#include "tools/prove/code.h"

namespace vramspan::prove {
namespace conditions_test {
namespace {

// Of a kernel with 32 bytes of parameters that begin at `begin`.
std::string TextOf(std::string_view rows, std::string_view begin = "0x0210") {
  std::string text = absl::StrCat(
      "\t.target\tsm_90\n\t.section\t.nv.info.k,\"\"\n /*0048*/ \t.word\tindex@(.nv.constant0.k)\n"
      " /*004c*/ \t.short\t",
      begin,
      "\n /*004e*/ \t.short\t0x0020\n\t.section\t.text.k,\"ax\",@progbits\n"
      "\t.other k,@\"STO_CUDA_ENTRY STV_DEFAULT\"\nk:\n.text.k:\n");
  AppendRows(rows, &text);
  return text;
}

std::string Told(const std::string& text) {
  const std::vector<KernelReading> readings = ReadKernels(text);
  if (readings.size() != 1) return "no kernel";
  if (!readings[0].proven) return readings[0].why;
  return readings[0].when.empty() ? "proven" : ParameterCasesText(readings[0].when);
}

// R6 and R7 are a parameter; R0 is the word at byte 0x1c, R1 that at 0x18.
constexpr std::string_view kBegin =
    "LDC.64 R6, c[0x0][0x210]\nLDC R0, c[0x0][0x22c]\nLDC R1, c[0x0][0x228]\n";
// Where it is gone through, the address is that of a table's entry.
constexpr std::string_view kTable = "LDG.E.64 R6, [R6.64]\n.L_x_1:\nLDG.E R2, [R6.64]\nEXIT";
constexpr std::string_view kMemory = "an address from memory: LDG.E R2, [R6.64]";

struct Choice {
  const char* name;
  const char* rows;  // Between the two.
  std::string_view told;
};

class ChoiceTest : public testing::TestWithParam<Choice> {};

TEST_P(ChoiceTest, SaysWhen) {
  EXPECT_EQ(Told(TextOf(absl::StrCat(kBegin, GetParam().rows, "\n", kTable))), GetParam().told);
}

constexpr Choice kChoices[] = {
    {"NoneIsGiven", "ISETP.NE.AND P0, PT, R2, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"NotThree", "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", "1c:4-2"},
    {"NotThreeBackwards", "ISETP.NE.AND P0, PT, 0x3, R0, PT\n@P0 BRA `(.L_x_1)", "1c:4-2"},
    {"EqualIsNot", "ISETP.EQ.AND P0, PT, R0, 0x3, PT\n@!P0 BRA `(.L_x_1)", "1c:4-2"},
    {"Flag", "ISETP.EQ.AND P0, PT, R0, RZ, PT\n@P0 BRA `(.L_x_1)", "1c:0-0"},
    {"NoFlag", "ISETP.NE.AND P0, PT, RZ, R0, PT\n@P0 BRA `(.L_x_1)", "1c:1-ffffffff"},
    {"Less", "ISETP.LT.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", "1c:80000000-2"},
    {"LessOrEqual", "ISETP.LE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", "1c:80000000-3"},
    {"MoreThanANegative", "ISETP.GT.AND P0, PT, R0, -0x2, PT\n@P0 BRA `(.L_x_1)",
     "1c:ffffffff-7fffffff"},
    {"AtLeast", "ISETP.GE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", "1c:3-7fffffff"},
    {"AtLeastBackwards", "ISETP.GE.AND P0, PT, 0x3, R0, PT\n@P0 BRA `(.L_x_1)", "1c:80000000-3"},
    {"LessUnsigned", "ISETP.LT.U32.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", "1c:0-2"},
    {"MoreUnsigned", "ISETP.GT.U32.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", "1c:4-ffffffff"},
    {"Always", "ISETP.GE.U32.AND P0, PT, R0, RZ, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"BySixtyFourBits",
     "ISETP.NE.U32.AND P0, PT, R0, 0x3, PT\nISETP.NE.AND.EX P0, PT, R1, RZ, PT, P0\n"
     "@P0 BRA `(.L_x_1)",
     kMemory},
    {"AndAnother", "ISETP.NE.AND P0, PT, R0, 0x3, P1\n@P0 BRA `(.L_x_1)", kMemory},
    {"OrAnother", "ISETP.NE.OR P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"TwoAtOnce", "ISETP.NE.AND P0, P1, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"OfTheNegative", "ISETP.NE.AND P0, PT, -R0, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"OfAPart", "ISETP.NE.AND P0, PT, R0.H0, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"OfTwoWords", "ISETP.NE.AND P0, PT, R0, R1, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"OfAConstant", "ISETP.NE.AND P0, PT, RZ, c[0x0][0x22c], PT\n@P0 BRA `(.L_x_1)",
     "1c:1-ffffffff"},
    {"OfABankThatIsNone", "ISETP.NE.AND P0, PT, RZ, c[0x3][0x22c], PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"OfAConstantByRegister", "ISETP.NE.AND P0, PT, RZ, c[0x0][R1+0x22c], PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfNoParameter", "LDC R0, c[0x0][0x20c]\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"BehindTheLast", "LDC R0, c[0x0][0x230]\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfAPair", "LDC.64 R8, c[0x0][0x228]\nISETP.NE.AND P0, PT, R9, 0x3, PT\n@P0 BRA `(.L_x_1)",
     "1c:4-2"},
    {"OfAByte", "LDC.U8 R0, c[0x0][0x22c]\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     "1c.1:4-2"},
    {"OfWhatWasMoved",
     "MOV R8, R0\nIMAD.MOV.U32 R9, RZ, RZ, R8\nR2UR UR8, R9\nUMOV UR9, UR8\n"
     "UISETP.NE.AND UP0, UPT, UR9, 0x3, UPT\nPLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0\n"
     "@P0 BRA `(.L_x_1)",
     "1c:4-2"},
    {"OfTheOpposite",
     "UISETP.NE.AND UP0, UPT, UR9, 0x3, UPT\nULDC UR9, c[0x0][0x22c]\n"
     "UISETP.EQ.AND UP0, UPT, UR9, 0x3, UPT\nPLOP3.LUT P0, PT, PT, PT, UP0, 0x40, 0x0\n"
     "@P0 BRA `(.L_x_1)",
     "1c:4-2"},
    {"OfTwoPredicates",
     "ISETP.NE.AND P1, PT, R0, 0x3, PT\nPLOP3.LUT P0, PT, P2, PT, P1, 0x80, 0x0\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfAnotherTable",
     "ISETP.NE.AND P1, PT, R0, 0x3, PT\nPLOP3.LUT P0, PT, PT, PT, P1, 0xa0, 0x0\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfASum", "IADD3 R0, R0, 0x1, RZ\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfAProduct", "IMAD.U32 R0, R1, 0x2, R0\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"WrittenSince", "LDG.E R0, [R6.64]\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"WrittenAsTheSecond",
     "LDG.E.64 R20, [R6.64]\nISETP.NE.AND P0, PT, R21, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"WrittenUnderAGuard",
     "@P3 LDC R0, c[0x0][0x228]\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"WrittenOnAnotherWay",
     "@P3 BRA `(.L_x_2)\nMOV R0, R1\n.L_x_2:\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"TheSameOnAnotherWay",
     "@P3 BRA `(.L_x_2)\nMOV R0, R0\n.L_x_2:\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     "1c:4-2"},
    {"PredicateOfAnother",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\nISETP.NE.AND P0, PT, R2, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"PredicatesFromARegister",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\nR2P PR, R2, 0x7f\n@P0 BRA `(.L_x_1)", kMemory},
    {"PredicateOfAVote", "ISETP.NE.AND P0, PT, R0, 0x3, PT\nVOTE.ANY R3, P0, P1\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"PredicateOnAnotherWay",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P3 BRA `(.L_x_2)\nISETP.EQ.AND P0, PT, R2, 0x3, PT\n"
     ".L_x_2:\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"BranchByOperand",
     "ULDC UR9, c[0x0][0x22c]\nUISETP.NE.AND UP0, UPT, UR9, 0x3, UPT\nBRA.U UP0, `(.L_x_1)",
     "1c:4-2"},
    {"BranchOfAWarp", "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA.ANY `(.L_x_1)", kMemory},
    {"BranchByTwo", "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA P3, `(.L_x_1)", kMemory},
    {"NoBranch", "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@!P0 LDG.E.64 R6, [R6.64]\nBRA `(.L_x_1)",
     "1c:4-2"},
    {"Ends", "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@!P0 EXIT\nBRA `(.L_x_1)", "proven"},
    {"EachOfTwo",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_2)\nLDG.E.64 R6, [R6.64]\n.L_x_2:\n"
     "ISETP.NE.AND P0, PT, R1, 0x5, PT\n@P0 BRA `(.L_x_1)",
     "1c:4-2,18:6-4"},
    {"EitherOfTwo",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)\nISETP.NE.AND P0, PT, R1, 0x5, PT\n"
     "@P0 BRA `(.L_x_1)",
     "1c:4-2/18:6-4"},
    {"OneOfThree",
     "ISETP.GE.U32.AND P0, PT, R0, 0x2, PT\n@!P0 BRA `(.L_x_1)\nISETP.NE.AND P0, PT, R0, 0x2, PT\n"
     "@!P0 BRA `(.L_x_1)\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     "1c:4-2"},
    {"WrittenAsAFurtherOne",
     "LDC R9, c[0x0][0x22c]\nI2F.F64 R8, R2\nISETP.NE.AND P0, PT, R9, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"WrittenByABarrier",
     "LDC.64 R20, c[0x0][0x228]\nBMOV.64 R20, ATEXIT_PC\nISETP.NE.AND P0, PT, R21, 0x3, PT\n"
     "@P0 BRA `(.L_x_1)",
     kMemory},
    {"TheSameNumberOfTwo",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_2)\nLDG.E.64 R6, [R6.64]\n.L_x_2:\n"
     "ISETP.NE.AND P0, PT, R1, 0x3, PT\n@P0 BRA `(.L_x_1)",
     "1c:4-2,18:4-2"},
    {"OfANegativeConstant", "ISETP.NE.AND P0, PT, RZ, -c[0x0][0x22c], PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfAPartOfAConstant", "ISETP.NE.AND P0, PT, RZ, c[0x0][0x22c].H1, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfAnotherMove", "MOV.SPILL R9, R0\nISETP.NE.AND P0, PT, R9, 0x3, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"OfANumberOf64Bits", "ISETP.NE.AND P0, PT, R0, 0x100000003, PT\n@P0 BRA `(.L_x_1)", kMemory},
    {"OfAnotherSecondPredicate",
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\nPLOP3.LUT P1, PT, PT, P2, P0, 0x80, 0x0\n@P1 BRA `(.L_x_1)",
     kMemory},
    {"Byte", "LDC.U8 R8, c[0x0][0x22d]\nISETP.NE.AND P0, PT, R8, RZ, PT\n@P0 BRA `(.L_x_1)",
     "1d.1:1-ffffffff"},
    {"HalfOfAWord",
     "ULDC.U16 UR8, c[0x0][0x22e]\nISETP.NE.AND P0, PT, RZ, UR8, PT\n@!P0 BRA `(.L_x_1)",
     "1e.2:0-0"},
    {"SignedByte", "LDC.S8 R8, c[0x0][0x22d]\nISETP.NE.AND P0, PT, R8, RZ, PT\n@P0 BRA `(.L_x_1)",
     kMemory},
    {"ByteIsNoWord",
     "LDC.U8 R8, c[0x0][0x22c]\nISETP.NE.AND P0, PT, R8, 0x3, PT\n@!P0 LDG.E.64 R6, [R6.64]\n"
     "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)",
     "1c.1:4-2,1c:4-2"},
    {"BehindACall",
     "CALL.REL.NOINC `($k$f)\nISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)\nBRA `(.L_x_3)\n"
     "$k$f:\nRET.REL.NODEC R20 `(k)\n.L_x_3:",
     kMemory},
};

INSTANTIATE_TEST_SUITE_P(All, ChoiceTest, testing::ValuesIn(kChoices),
                         [](const auto& of) { return of.param.name; });

TEST(ConditionsTest, NothingIsAssumedOfParametersThatStandElsewhere) {
  const std::string rows =
      absl::StrCat(kBegin, "ISETP.NE.AND P0, PT, R0, 0x3, PT\n@P0 BRA `(.L_x_1)\n", kTable);
  EXPECT_EQ(Told(TextOf(rows)), "1c:4-2");
  EXPECT_EQ(Told(TextOf(rows, "0x0160")), kMemory);
  EXPECT_EQ(Told(TextOf(rows, "none")), kMemory);
  const std::string first = TextOf(rows);
  const std::string table = first.substr(
      first.find("\t.section"), first.find("\t.section\t.text") - first.find("\t.section"));
  std::string other = table;
  other.replace(other.find("0x0020"), 6, "0x0040");
  EXPECT_EQ(Told(table + first), "1c:4-2");
  EXPECT_EQ(Told(other + first), kMemory);
  std::string unsaid = TextOf(rows);
  unsaid.replace(unsaid.find("index@"), 6, "other@");
  EXPECT_EQ(Told(unsaid), kMemory);
}

TEST(ConditionsTest, NothingIsProvenWhereParametersStandElsewhere) {
  const std::string rows = "LDC.64 R6, c[0x0][0x220]\nLDG.E R2, [R6.64]\nEXIT";
  EXPECT_EQ(Told(TextOf(rows)), "proven");
  EXPECT_EQ(Told(TextOf(rows, "0x0380")), "its parameters begin elsewhere");
}

// A row of choices, each by another word of 8: more are not kept, nor is there no end to the
// search.
TEST(ConditionsTest, TooManyAreNone) {
  std::string rows = "LDC.64 R6, c[0x0][0x210]\n";
  for (int k = 0; k < 40; ++k) {
    absl::StrAppend(&rows, "LDC R0, c[0x0][0x", absl::Hex(0x210 + 4 * (k % 8)),
                    "]\nISETP.NE.AND P0, PT, R0, 0x", absl::Hex(k + 1), ", PT\n@P0 BRA `(.L_y_", k,
                    ")\nLDG.E.64 R6, [R6.64]\n.L_y_", k, ":\n");
  }
  EXPECT_EQ(Told(TextOf(absl::StrCat(rows, "LDG.E R2, [R6.64]\nEXIT"))).substr(0, 22),
            kMemory.substr(0, 22));
}

}  // namespace
}  // namespace conditions_test
}  // namespace vramspan::prove
