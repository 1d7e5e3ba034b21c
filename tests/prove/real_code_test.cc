// Real code: code/*.cu, as nvcc made it for four architectures. And the same, damaged at random.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tools/prove/code.h"

namespace vramspan::prove {
namespace {

constexpr int kArchitectures[] = {75, 80, 90, 100};

std::string CodeOf(const char* name, int architecture) {
  std::ifstream file(absl::StrCat(VRAMSPAN_PROVE_CODE, "/", name, ".sm_", architecture, ".sass"));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

struct Expected {
  const char* name;
  const char* why;          // What is in doubt begins so; empty: proven.
  const char* older = why;  // The same before sm_90.
};

constexpr char kLoaded[] = "an address from memory";
constexpr char kScaled[] = "an address that is a scaled parameter";
constexpr char kUnknownCall[] = "a call that is not known";

constexpr Expected kArrays[] = {
    {"add", ""},
    {"gather32", ""},
    {"gather64", ""},
    {"gather64s", ""},
    {"table", kLoaded},
    {"deref", kLoaded},
    {"bystruct", ""},
    {"halves", ""},
    {"bysym", kLoaded},    // A pointer in a variable of the module.
    {"byconst", kLoaded},  // The same in __constant__.
    {"shared_pointers", kLoaded},
    {"tree", ""},
    {"list", kLoaded},
    {"local_array", ""},
    {"calls", ""},
    {"distance", ""},   // 64 bits, scaled.
    {"page", kLoaded},  // A number of a page, and no parameter.
    {"asserts", ""},
    {"prints", kUnknownCall},
    {"atomics", ""},
    {"sw", "", kScaled},  // There a parameter is multiplied by a register that holds one.
};

constexpr Expected kPointers[] = {
    {"mallocs", kUnknownCall},
    {"pointers", kUnknownCall},
    {"virtuals", kLoaded},  // The table of functions, before the call.
    {"local_virtual", kUnknownCall},
    {"print_string", kUnknownCall},
    {"own_variable", ""},
    {"tex", "unknown instruction"},
    {"texs", "unknown instruction"},
    {"surf", "unknown instruction"},
    {"recursion", "an address "},  // A return address is kept in memory beside pointers.
    {"packed_memory", kLoaded},
    {"two_words", kLoaded},
    {"tagged", kLoaded},
    {"xored", kLoaded},
    {"shuffled", kLoaded},
    {"by_local", kLoaded},
    {"by_local_pointer", kLoaded},
    {"swapped", kLoaded},
    {"exch", kLoaded},
    {"scaled_pages", kLoaded, ""},  // By more than an element; before, by a register.
    {"own_distance", kLoaded},      // In bytes: it could be a pointer.
    {"half_pages", kLoaded, ""},
};

void Check(const char* name, const Expected* expected, size_t count) {
  for (const int architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    std::map<std::string, std::string> told;
    for (const KernelReading& reading : ReadKernels(CodeOf(name, architecture))) {
      EXPECT_EQ(reading.proven, reading.why.empty()) << reading.name;
      EXPECT_TRUE(told.emplace(reading.name, reading.why).second) << reading.name;
    }
    EXPECT_EQ(told.size(), count);
    for (size_t i = 0; i < count; ++i) {
      const auto found = told.find(expected[i].name);
      ASSERT_NE(found, told.end()) << expected[i].name;
      const std::string_view why = architecture < 90 ? expected[i].older : expected[i].why;
      EXPECT_TRUE(why.empty() ? found->second.empty() : absl::StartsWith(found->second, why))
          << expected[i].name << ": " << found->second;
    }
  }
}

TEST(RealCodeTest, KernelsOfArrays) { Check("arrays", kArrays, std::size(kArrays)); }
TEST(RealCodeTest, KernelsOfPointers) { Check("pointers", kPointers, std::size(kPointers)); }

// Drops, repeats and swaps lines, and changes characters.
std::string Damaged(std::string_view text, std::mt19937& random) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const auto any = [&random, &lines] { return random() % lines.size(); };
  for (unsigned k = 0, count = 1 + random() % 8; k < count; ++k) {
    switch (random() % 4) {
      case 0:
        lines[any()].clear();
        break;
      case 1:
        lines[any()] = lines[any()];
        break;
      case 2:
        std::swap(lines[any()], lines[any()]);
        break;
      default: {
        std::string& line = lines[any()];
        if (!line.empty()) line[random() % line.size()] = "R[]+.,;`(0x9|@!P/*:U-"[random() % 21];
      }
    }
  }
  return absl::StrJoin(lines, "\n");
}

TEST(RealCodeTest, DamagedCodeIsReadAllTheSame) {
  std::mt19937 random(1);
  for (const char* const name : {"arrays", "pointers"}) {
    for (const int architecture : kArchitectures) {
      const std::string text = CodeOf(name, architecture);
      for (int i = 0; i < 25; ++i) {
        for (const KernelReading& reading : ReadKernels(Damaged(text, random))) {
          ASSERT_EQ(reading.proven, reading.why.empty());
        }
      }
      // Cut anywhere.
      ReadKernels(std::string_view(text).substr(0, random() % text.size()));
    }
  }
}

std::string KernelOf(std::string_view rows) {
  return absl::StrCat(
      "\t.target\tsm_90\n\t.section\t.text.k,\"ax\"\n\t.other k,\"STO_CUDA_ENTRY\"\n", rows);
}

// Code that is made to take long: each is read in far less than what a test may take.
// All calls are known before the first return is seen, and each return tells them something new.
TEST(HostileCodeTest, ManyReturnsToManyCalls) {
  std::string rows, blocks, returns;
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&rows, "/**/ @P0 CALL.REL.NOINC `($k$f) ;\n");
    absl::StrAppend(&blocks, ".L_", i, ":\n/**/ MOV R0, R0 ;\n");
  }
  for (int i = 2; i < 250; ++i) {
    for (const char* const kind : {"R", "UR"}) {
      absl::StrAppend(&returns, "/**/ LDC ", kind, i,
                      ", c[0x0][0x210] ;\n/**/ @P0 RET.REL R20 ;\n");
    }
  }
  absl::StrAppend(&rows, "/**/ EXIT ;\n$k$f:\n", blocks, ".L_z:\n", returns,
                  "/**/ RET.REL R20 ;\n");
  EXPECT_EQ(ReadKernels(KernelOf(rows))[0].why, "it takes too long to follow");
}

TEST(HostileCodeTest, ManyBarriersAndManyPlacesToMeet) {
  std::string rows;
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&rows, "/**/ BSSY B0, `(.L_", i, ") ;\n/**/ BSYNC B1 ;\n.L_", i, ":\n");
  }
  absl::StrAppend(&rows, "/**/ EXIT ;\n");
  EXPECT_EQ(ReadKernels(KernelOf(rows))[0].why, "it takes too long to follow");
}

TEST(HostileCodeTest, ManyBlocksWithMuchLocalMemory) {
  std::string rows = "/**/ STL [R1+0xfffc], R2 ;\n";
  for (int i = 0; i < 40000; ++i) absl::StrAppend(&rows, ".L_", i, ":\n/**/ MOV R2, R3 ;\n");
  absl::StrAppend(&rows, "/**/ EXIT ;\n");
  EXPECT_EQ(ReadKernels(KernelOf(rows))[0].why, "too much is to be kept in mind");
}

TEST(HostileCodeTest, ManyOperands) {
  const std::string rows =
      absl::StrCat("/**/ MOV ", std::string(1 << 20, 'R'), ",,", " ;\n/**/ MOV ");
  std::string commas;
  for (int i = 0; i < 100000; ++i) commas += "R1,";
  EXPECT_THAT(ReadKernels(KernelOf(absl::StrCat(rows, commas, " ;\n")))[0].why,
              testing::StartsWith("a line that is not understood"));
}

TEST(HostileCodeTest, ManyInstructionsInARow) {
  std::string rows;
  for (int i = 0; i < 300000; ++i) rows += "/**/ @P0 IADD3 R2, P0, P1, R2, R3, R4 ;\n";
  rows += "/**/ EXIT ;\n";
  EXPECT_TRUE(ReadKernels(KernelOf(rows))[0].proven);
}

}  // namespace
}  // namespace vramspan::prove
