// Programs as libraries make them that look after memory themselves, with the preload in them and
// half of their data on the device.
#include <gmock/gmock.h>

#include <cstdio>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// The device has room for all of it, so that it runs without vramspan too.
constexpr char kDevice[] = "SIMCUDA_DEVICE_MEMORY=512MiB";
constexpr const char* kOverlaps[] = {"off", "auto"};

void ExpectBesideOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
}

// With a budget of half of what the scenarios have.
Output RunShort(const std::string& route, const std::string& scenario, const std::string& overlap) {
  Output output = RunPreloaded(route, scenario,
                               std::string(kDevice) +
                                   " VRAMSPAN_DEVICE_MEMORY=32MiB VRAMSPAN_STATS=- "
                                   "VRAMSPAN_LOG=info VRAMSPAN_OVERLAP=" +
                                   overlap);
  ExpectBesideOk(output);
  EXPECT_THAT(output.err, ContainsRegex("evicted [^\n]* [1-9][0-9]* chunks")) << "it was not short";
  return output;
}

#if defined(__x86_64__)
struct Patched {
  unsigned long large = 0, large_frees = 0, questions = 0;
};

Patched PatchSaw(const Output& output) {
  Patched saw;
  const size_t at = output.err.find("patch: ");
  EXPECT_NE(at, std::string::npos) << output.err;
  if (at == std::string::npos) return saw;
  EXPECT_EQ(std::sscanf(output.err.c_str() + at,
                        "patch: %lu large allocations, %lu large frees, %lu questions", &saw.large,
                        &saw.large_frees, &saw.questions),
            3);
  return saw;
}

// The scenario asks for 26 buffers, for 9 of them after it has written the patches "after". It
// frees them all by then, and of those the patch knows the ones whose allocation it saw.
void ExpectAllSeen(const Patched& saw, bool before) {
  EXPECT_EQ(saw.large, before ? 26u : 9u);
  EXPECT_EQ(saw.large_frees, before ? 26u : 9u);
}

// What vramspan serves never comes to the driver. At each allocation and each free it asks that for
// no byte, which says whether a capture forbids the call.
TEST(PreloadBeside, APatchOfTheDriverSeesWhatIsPassedOnAndNotWhatIsServed) {
  for (const char* when : {"before", "after"}) {
    const std::string scenario = std::string("patched:driver_") + when;
    SCOPED_TRACE(scenario);
    const bool before = when == std::string("before");
    const Output plain = RunPlain("proc2", scenario, kDevice);
    ExpectBesideOk(plain);
    ExpectAllSeen(PatchSaw(plain), before);
    EXPECT_EQ(PatchSaw(plain).questions, 0u);
    for (const char* overlap : kOverlaps) {
      for (const char* route : {"proc2", "dlsym", "linked"}) {
        SCOPED_TRACE(route);
        const Patched saw = PatchSaw(RunShort(route, scenario, overlap));
        EXPECT_EQ(saw.large, 1u) << "that of the other context";
        EXPECT_EQ(saw.large_frees, 1u);
        EXPECT_GE(saw.questions, before ? 50u : 33u);
      }
    }
  }
}

// Whoever asks for the function gets vramspan's, and writes into that.
TEST(PreloadBeside, APatchOfWhatIsAnsweredSeesWhatTheProgramAsksFor) {
  for (const char* when : {"before", "after"}) {
    const std::string scenario = std::string("patched:answered_") + when;
    SCOPED_TRACE(scenario);
    for (const char* overlap : kOverlaps) {
      for (const char* route : {"proc2", "dlsym", "linked"}) {
        SCOPED_TRACE(route);
        ExpectAllSeen(PatchSaw(RunShort(route, scenario, overlap)), when == std::string("before"));
      }
    }
  }
}
#endif

TEST(PreloadBeside, HostMemoryThatAProgramMapsItselfIsTheDrivers) {
  ExpectBesideOk(RunPlain("proc2", "own_host_memory", kDevice));
  for (const char* overlap : kOverlaps) {
    const Output output = RunShort("proc2_pt", "own_host_memory", overlap);
    EXPECT_THAT(output.err, Not(HasSubstr("its own VMM"))) << "that is device memory";
  }
}

TEST(PreloadBeside, MemoryThatSleepsWakesAtItsAddressWithItsContents) {
  ExpectBesideOk(RunPlain("proc2", "sleep", kDevice));
  for (const char* overlap : kOverlaps) {
    const Output output = RunShort("proc2_pt", "sleep", overlap);
    EXPECT_THAT(output.err, Not(HasSubstr("its own VMM"))) << "all of it is ours";
  }
}

TEST(PreloadBeside, WhatIsRegisteredAndHandedOutIsAsWithoutVramspan) {
  ExpectBesideOk(RunPlain("proc2", "register", kDevice));
  for (const char* overlap : kOverlaps) {
    const Output output = RunShort("proc2_pt", "register", overlap);
    EXPECT_THAT(output.err, HasSubstr("stay on the device"));
  }
}

TEST(PreloadBeside, ProcessesSignalEachOtherInSharedMemoryWhileOtherMemoryMoves) {
  for (const char* overlap : kOverlaps) RunShort("proc2_pt", "ipc_reduce", overlap);
}

// LD_LIBRARY_PATH has a libnvoptix.so.1 whose work nobody sees.
constexpr char kOptix[] =
    "LD_LIBRARY_PATH='" SIMCUDA_FOLDER ":" FAKE_OPTIX_FOLDER
    "' SIMCUDA_DEVICE_MEMORY=512MiB VRAMSPAN_DEVICE_MEMORY=32MiB VRAMSPAN_STATS=- "
    "VRAMSPAN_OVERLAP=";

Output RunOptix(const char* scenario, const char* overlap) {
  SCOPED_TRACE(std::string(scenario) + ", " + overlap);
  Output output = RunPreloaded("proc2", scenario, std::string(kOptix) + overlap);
  ExpectBesideOk(output);
  return output;
}

TEST(PreloadBeside, MemoryStaysWhereOptixMayUseIt) {
  for (const char* scenario : {"optix:first", "optix:late", "optix:short"}) {
    ExpectBesideOk(RunPlain("proc2", scenario, std::string(kOptix) + "off"));
  }
  for (const char* overlap : {"off", "auto", "all"}) {
    const Output first = RunOptix("optix:first", overlap);
    EXPECT_THAT(first.err, HasSubstr("the program runs as without vramspan in this process: it "
                                     "uses OptiX, whose work nobody sees"));
    EXPECT_THAT(first.err, Not(HasSubstr("evicted")));
    const Output late = RunOptix("optix:late", overlap);
    EXPECT_THAT(late.err, HasSubstr("launches are no longer seen (it uses OptiX, whose work nobody "
                                    "sees), so memory stays where it is"));
    EXPECT_THAT(late.err, ContainsRegex("evicted [^\n]* 0 chunks")) << "the driver had room";
    EXPECT_THAT(RunOptix("optix:short", overlap).err, HasSubstr("device memory is short"));
  }
}

// As programs do that list what devices there are.
TEST(PreloadBeside, WhoOnlyAsksForOptixHasMoreMemoryThanTheDevice) {
  for (const char* overlap : kOverlaps) {
    const Output output = RunOptix("optix:asked", overlap);
    EXPECT_THAT(output.err, Not(HasSubstr("OptiX")));
    EXPECT_THAT(output.err, ContainsRegex("evicted [^\n]* [1-9][0-9]* chunks"));
  }
}

// Where its table has what is not known.
TEST(PreloadBeside, WhoAsksForAnOptixThatNobodyKnowsRunsAsWithoutVramspan) {
  EXPECT_THAT(RunOptix("optix:newer", "auto").err,
              HasSubstr("the program runs as without vramspan in this process: it uses OptiX"));
}

}  // namespace
}  // namespace vramspan_test
