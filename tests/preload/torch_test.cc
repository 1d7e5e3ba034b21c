// What PyTorch's allocator says of its blocks.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr char kC10[] = "LD_LIBRARY_PATH='" C10_FOLDER ":" SIMCUDA_FOLDER "' ";

void Ok(const std::string& name, const std::string& environment) {
  const Output output = RunPreloaded(
      "dlsym", "torch:" + name,
      kC10 + ("SIMCUDA_DEVICE_MEMORY=256MiB VRAMSPAN_DEVICE_MEMORY=16MiB " + environment));
  EXPECT_EQ(output.code, 0) << name << " " << environment << ": " << output.err;
  EXPECT_THAT(output.out, HasSubstr("ok\n")) << output.err;
}

TEST(TorchBlocks, AreNotHeardIfTheUserSaysSo) {
  const Output output =
      RunPreloaded("dlsym", "torch:steps",
                   kC10 + std::string("SIMCUDA_DEVICE_MEMORY=256MiB VRAMSPAN_DEVICE_MEMORY=16MiB "
                                      "VRAMSPAN_BLOCKS=off VRAMSPAN_OVERLAP=safe"));
  EXPECT_EQ(output.code, 1);
  // On a busy machine a chunk may come and leave before it is filled.
  EXPECT_THAT(output.err, ContainsRegex("left without a copy: [0-9] MiB"));
}

// Beside code that is known to name its memory.
TEST(TorchBlocks, LeaveWithoutACopyOnceTheyAreFreed) {
  for (const char* overlap : {"safe", "all"}) {
    const std::string environment = "VRAMSPAN_OVERLAP=" + std::string(overlap);
    for (const char* name : {"steps", "adjacent", "strays"}) Ok(name, environment);
  }
}

TEST(TorchBlocks, LoseNoWordWhileTheyAreInUse) {
  for (const char* overlap : {"off", "auto", "safe", "all"}) {
    const std::string environment = "VRAMSPAN_OVERLAP=" + std::string(overlap);
    for (const char* name : {"words", "restored", "freed", "nonsense", "past_the_end"})
      Ok(name, environment);
  }
}

// Who hands them out may have its memory from another allocator, which gives it to others, too.
TEST(TorchBlocks, OfMemoryThatOthersHaveInBetweenLoseNoWord) {
  for (const char* overlap : {"off", "auto", "safe", "all"}) {
    const std::string environment = "VRAMSPAN_OVERLAP=" + std::string(overlap);
    for (const char* name : {"arena_edge", "arena_reuse", "arena_reach", "arena_behind",
                             "arena_shared", "arena_of_graph", "async_reuse", "arena_half",
                             "arena_before", "arena_by_heart", "arena_unknown"})
      Ok(name, environment);
  }
}

TEST(TorchBlocks, OfMemoryThatAWrapperMayKeepAreNotTheAllocatorsAlone) {
  Ok("wrapped", "VRAMSPAN_OVERLAP=safe");
}

// Where nobody says that code hides no addresses.
TEST(TorchBlocks, OfMemoryThatOthersFindByTablesLoseNoWord) {
  for (const char* overlap : {"off", "auto", "proven"}) {
    Ok("arena_table", "VRAMSPAN_OVERLAP=" + std::string(overlap));
  }
}

TEST(TorchBlocks, OfMemoryThatOthersHaveWhileNobodyLooksLoseNoWord) {
  for (int round = 0; round < 3; ++round) {
    for (const char* name : {"arena_unseen", "arena_rested"}) Ok(name, "VRAMSPAN_OVERLAP=auto");
  }
}

TEST(TorchBlocks, MayBeReadPastTheirEndFromWithin) {
  for (const char* overlap : {"off", "auto", "safe", "all"})
    Ok("past_within", "VRAMSPAN_OVERLAP=" + std::string(overlap));
}

TEST(TorchBlocks, OfManyArraysComeArrayByArray) {
  for (const char* overlap : {"auto", "all"})
    Ok("flat", "VRAMSPAN_OVERLAP=" + std::string(overlap));
}

// What reports are passed on to is found before the first, and stays.
TEST(TorchBlocks, ArePassedOnWhoeverClosesPyTorch) { Ok("closed", ""); }

TEST(TorchBlocks, OfGraphsStayWhatTheyAre) {
  for (const char* overlap : {"off", "auto", "safe", "all"}) {
    const std::string environment = "VRAMSPAN_OVERLAP=" + std::string(overlap);
    for (const char* name : {"captured", "inputs", "table"}) Ok(name, environment);
  }
}

TEST(TorchBlocks, AreReportedToPyTorchWhereVramspanIsOff) {
  const Output output = RunPreloaded(
      "dlsym", "torch:words", kC10 + std::string("VRAMSPAN_OFF=1 SIMCUDA_DEVICE_MEMORY=96MiB"));
  EXPECT_EQ(output.code, 0) << output.err;
}

}  // namespace
}  // namespace vramspan_test
