// Memory that passes by and that vramspan makes room for: arrays and external memory.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kEnvironment[] = "VRAMSPAN_STATS=- VRAMSPAN_LOG=info";
constexpr char kGiven[] = "the driver got ";
constexpr char kTaken[] = "the device budget got ";

// The number behind the first of these words; -1 where they are not said.
int NumberBehind(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + words.size());
}

// The device was full of chunks, of which some went; and what the budget was lowered by for that
// came back when the memory went, not before.
void ExpectRoomWasMadeAndComesBack(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n");
  const size_t goes = output.err.find("program: it goes");
  ASSERT_NE(goes, std::string::npos) << output.err;
  EXPECT_LT(output.err.find(kGiven), goes) << output.err;
  const size_t taken = output.err.find(kTaken);
  EXPECT_NE(taken, std::string::npos) << output.err;
  EXPECT_GT(taken, goes) << output.err;
  const int first = NumberBehind(output.err, "short (budget ");
  EXPECT_GT(first, 0);
  EXPECT_EQ(NumberBehind(output.err, "(device budget "), first) << output.err;
}

TEST(PreloadForeign, RoomIsMadeForAnArray) {
  const Output output = RunPreloaded("dlsym", "foreign_flat", kEnvironment);
  ExpectRoomWasMadeAndComesBack(output);
  EXPECT_THAT(output.err, HasSubstr("of the driver: arrays      1 allocations, 12.0 MiB in all"));
}

// What is given back is there when the call is made again, however long other threads take for it.
TEST(PreloadForeign, RoomIsThereWhenItIsSaidToBe) {
  const std::string slow = "SIMCUDA_DELAY=cuMemRelease:20000 ";
  ExpectRoomWasMadeAndComesBack(RunPreloaded("dlsym", "foreign_large", slow + kEnvironment));
}

TEST(PreloadForeign, RoomIsMadeForAVolume) {
  const Output output = RunPreloaded("dlsym", "foreign_deep", kEnvironment);
  ExpectRoomWasMadeAndComesBack(output);
  EXPECT_THAT(output.err, HasSubstr("of the driver: arrays      1 allocations, 12.0 MiB in all"));
}

// 12 MiB, a quarter of that, and a quarter of a quarter.
TEST(PreloadForeign, RoomIsMadeForAMipmappedArray) {
  const Output output = RunPreloaded("dlsym", "foreign_mipmapped", kEnvironment);
  ExpectRoomWasMadeAndComesBack(output);
  EXPECT_THAT(output.err, HasSubstr("of the driver: arrays      1 allocations, 15.8 MiB in all"));
}

TEST(PreloadForeign, ExternalMemoryThatGoesIsRoomAgain) {
  const Output output = RunPreloaded("dlsym", "foreign_external", kEnvironment);
  ExpectRoomWasMadeAndComesBack(output);
}

TEST(PreloadForeign, RoomIsMadeForAnImport) {
  const std::string fails_once = "SIMCUDA_FAIL=cuImportExternalMemory:1=2 ";
  const Output output = RunPreloaded("dlsym", "foreign_import", fails_once + kEnvironment);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr(kGiven), HasSubstr(kTaken)));
}

TEST(PreloadForeign, MemoryThatWasMadeRealIsRoomAgainWhenItGoes) {
  for (const char* scenario : {"foreign_exported", "foreign_mapped"}) {
    SCOPED_TRACE(scenario);
    const Output output = RunPreloaded("dlsym", scenario, kEnvironment);
    ExpectRoomWasMadeAndComesBack(output);
    EXPECT_THAT(output.err, HasSubstr("stay on the device"));
  }
}

TEST(PreloadForeign, AnArrayThatCannotBeTakesNothing) {
  const Output output = RunPreloaded("dlsym", "foreign_too_much", kEnvironment);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err,
              AllOf(HasSubstr(kGiven), HasSubstr(kTaken), Not(HasSubstr("of the driver: arrays"))));
  EXPECT_EQ(NumberBehind(output.err, "(device budget "),
            NumberBehind(output.err, "short (budget "));
}

// Whichever call it is that finds the device full.
TEST(PreloadForeign, RoomIsMadeForWhateverTheDriverAllocates) {
  EXPECT_EQ(RunPlain("dlsym", "rescue_each").code, 1);
  const Output output = RunPreloaded("dlsym", "rescue_each");
  EXPECT_EQ(output.code, 0) << output.err;
}

TEST(PreloadForeign, WhatMerelyPassesByIsCounted) {
  const Output output = RunPreloaded("dlsym", "foreign_passed_by", kEnvironment);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("of the driver: pinned host 3 allocations, 7.0 MiB"),
                                HasSubstr("of the driver: managed     1 allocations, 8.0 MiB")));
}

TEST(PreloadForeign, WhatCannotBePinnedIsNotHandedOut) {
  const Output output = RunPreloaded("dlsym", "foreign_handed_out", kEnvironment);
  EXPECT_EQ(output.code, 0) << output.err;
}

// Of memory that is bound nobody says where it is used, so it stays, though the driver refuses
// here.
TEST(PreloadForeign, MulticastObjectsAreTheDrivers) {
  EXPECT_EQ(RunPlain("dlsym", "foreign_multicast").code, 0);
  const Output output = RunPreloaded("dlsym", "foreign_multicast", kEnvironment);
  EXPECT_EQ(output.code, 0) << output.err;
  const size_t first = output.err.find("it is bound to a multicast object");
  ASSERT_NE(first, std::string::npos) << output.err;
  EXPECT_NE(output.err.find("it is bound to a multicast object", first + 1), std::string::npos);
}

}  // namespace
}  // namespace vramspan_test
