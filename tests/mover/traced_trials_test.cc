// A chunk served in place to see what that costs, and launches before with all their memory there:
// they are timed, however busy the mover is.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/placement/kernel_prices.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kEach = 16 * kMiB;   // More than is fetched at once.
constexpr unsigned kSlowCall = 2000;  // Microseconds.

class TracedTrials : public MoverTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // A bus so slow that what the simulated driver runs counts as reading its memory once, at the
  // memory's own rate.
  TracedTrials() { UsePrices(/*move_gb_per_s=*/500); }
  // Where a move is as slow, a launch is cheap in place at worst, and needs no trial.
  void UsePrices(double move_gb_per_s) {
    folder_ = ::testing::TempDir() + "vramspan-trials-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_ + "/vramspan");
    std::ofstream(folder_ + "/vramspan/GPU-73696d63-7564-612d-6465-766963652d00.prices")
        << "vramspan-prices 1\ndriver 13000\nserve_gb_per_s 1.000\nmove_gb_per_s " << move_gb_per_s
        << "\n";
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void ForgetRuns() { std::filesystem::remove_all(folder_ + "/vramspan/learned"); }
  vramspanStatistics Run(const char* learned) const;
  ~TracedTrials() override {
    unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }

 private:
  std::string folder_;
};

// A runtime that traces, and more arrays than fit, all of them filled.
struct Arrays {
  Arrays(const World& its_world, const char* overlap)
      : world(its_world), runtime(world, Options(overlap)) {
    for (size_t i = 0; i < 8; ++i) {
      all.push_back(runtime.Alloc(kEach));
      all.back().seed = i + 1;
      EXPECT_CU(world.LaunchFill(all.back(), stream));
    }
    EXPECT_CU(world.api().StreamSynchronize(stream));
  }
  static RuntimeOptions Options(const char* overlap) {
    RuntimeOptions options;
    options.chunk = "2MiB";
    options.device_memory = "80MiB";
    options.deadline_us = 5'000'000;
    options.tracer = "cupti";
    options.overlap = overlap;
    return options;
  }
  // On the first words of one.
  void Launch(Buffer array, size_t words, unsigned blocks) {
    array.words = words;
    EXPECT_CU(world.LaunchAdd(array, 0, stream, blocks));
  }
  // All has run, and what it left is right.
  vramspanStatistics End() {
    EXPECT_CU(world.api().StreamSynchronize(stream));
    const vramspanStatistics s = runtime.stats();
    for (const Buffer& array : all) EXPECT_EQ(world.Wrong(array), "");
    EXPECT_SPAN(runtime.Destroy());
    EXPECT_CU(world.api().StreamDestroy(stream));
    return s;
  }

  const World& world;
  TestRuntime runtime;
  CUstream stream = world.NewStream();
  std::vector<Buffer> all;
};

// Laps over more than fits, each remap slower than a launch and than what a look may be late; the
// kernels, or shapes of one, come one after another. That of one is known from launches before with
// its memory on the device. The simulated driver takes no longer for 4096 words than a GPU.
// `from_data`: each launch has some blocks more or less.
vramspanStatistics Laps(const World& world, const char* overlap, unsigned kernels, size_t words,
                        bool from_data = false) {
  Arrays arrays(world, overlap);
  for (int i = 0; kernels == 1 && !from_data && i < 20; ++i) {
    arrays.Launch(arrays.all[0], words, /*blocks=*/1);
    EXPECT_CU(world.api().StreamSynchronize(arrays.stream));
  }
  for (const char* call : {"cuMemUnmap", "cuMemSetAccess"}) world.set_delay(call, kSlowCall);
  unsigned made = 0;
  for (unsigned lap = 0; lap < 30; ++lap) {
    for (const Buffer& array : arrays.all) {
      const unsigned other = made++ * 37 % 64;
      arrays.Launch(array, words, from_data ? 128 + other : 1u << lap * kernels / 30);
    }
  }
  EXPECT_CU(world.api().StreamSynchronize(arrays.stream));
  for (const char* call : {"cuMemUnmap", "cuMemSetAccess"}) world.set_delay(call, 0);
  return arrays.End();
}

// Two that agree are enough, and then the launches are served where their memory is. On a machine
// that is busy with other things no time can be believed: then it is tried again.
void ExpectBelieved(const World& world, const char* overlap, unsigned kernels,
                    size_t words = 1 << 12, bool from_data = false) {
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const vramspanStatistics s = Laps(world, overlap, kernels, words, from_data);
    if (s.trials >= 2 * kernels && s.trials <= 8 * kernels && s.works_in_place >= 100) return;
    seen += std::to_string(s.trials) + " trials, " + std::to_string(s.works_in_place) + " served; ";
  }
  ADD_FAILURE() << seen;
}

vramspanStatistics TracedTrials::Run(const char* learned) const {
  setenv("VRAMSPAN_LEARNED", learned, 1);
  const vramspanStatistics s = Laps(world_, GetParam(), /*kernels=*/1, /*words=*/1 << 12);
  unsetenv("VRAMSPAN_LEARNED");
  return s;
}

TEST_P(TracedTrials, AreBelievedBesideSlowRemaps) {
  ExpectBelieved(world_, GetParam(), /*kernels=*/1);
}

// Rows that somebody counted on the device before, say.
TEST_P(TracedTrials, AreNotMadeForEachNumberOfBlocks) {
  ExpectBelieved(world_, GetParam(), /*kernels=*/1, /*words=*/1 << 12, /*from_data=*/true);
}

TEST_P(TracedTrials, AreMadeOfWhatWasNeverSeenWithoutThem) {
  ExpectBelieved(world_, GetParam(), /*kernels=*/10);
}

// As AreMadeOfWhatWasNeverSeenWithoutThem, but moves are slow.
TEST_P(TracedTrials, AreNotNeededOfShortLaunches) {
  UsePrices(/*move_gb_per_s=*/0.1);
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const vramspanStatistics s = Laps(world_, GetParam(), /*kernels=*/10, /*words=*/1 << 12);
    if (s.trials <= 10 && s.works_in_place >= 90) return;
    seen += std::to_string(s.trials) + " trials, " + std::to_string(s.works_in_place) + " served; ";
  }
  ADD_FAILURE() << seen;
}

// The mover looks often enough, though nothing has happened for a while.
TEST_P(TracedTrials, AreBelievedOfLongerLaunches) {
  ExpectBelieved(world_, GetParam(), /*kernels=*/5, /*words=*/1 << 16);
}

// As Submission::shape.
uint64_t ShapeOf(const std::vector<uint64_t>& dims) {
  uint64_t shape = 0;
  for (const uint64_t size : dims) shape = (shape ^ size) * 0x9e3779b97f4a7c15ull;
  return shape;
}

// Of the shape that LaunchAdd makes with so many blocks.
vramspan::KernelPrice PriceOf(uint64_t blocks, double passes) {
  return {.name = vramspan::KernelPrice::HashOfName("add_constant"),
          .shape = ShapeOf({blocks, 1, 1, 64, 1, 1}),
          .passes = passes,
          .resident_ns = 10'000};
}

// A profile says that the kernel reads its memory once.
TEST_P(TracedTrials, AreNotNeededOfWhatIsKnown) {
  setenv("VRAMSPAN_KERNELS", vramspan::KernelPricesText({PriceOf(1, /*passes=*/1)}).c_str(), 1);
  const vramspanStatistics s = Laps(world_, GetParam(), /*kernels=*/1, /*words=*/1 << 12);
  unsetenv("VRAMSPAN_KERNELS");
  EXPECT_EQ(s.trials, 0);
  EXPECT_GT(s.works_in_place, 0);
}

// So does what the run before has learned. As above, times may have to be believed first. Of the
// eight arrays five fit.
TEST_P(TracedTrials, AreNotMadeAgainInTheNextRun) {
  std::string seen;
  for (int attempt = 0; attempt < 10; ++attempt) {
    ForgetRuns();
    const vramspanStatistics first = Run("on");
    seen += std::to_string(first.works_in_place) + " served, ";
    if (first.trials < 2 || first.works_in_place < 100) continue;
    const vramspanStatistics second = Run("on");
    if (second.trials == 0 && second.works_in_place >= 80) return;
    seen += "then " + std::to_string(second.trials) + " trials, " +
            std::to_string(second.works_in_place) + " served; ";
  }
  ADD_FAILURE() << seen;
}

TEST_P(TracedTrials, AreMadeAgainWhereNobodyWantsWhatWasLearned) {
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {
    Run("on");
    const vramspanStatistics off = Run("off");
    if (off.trials >= 2) return;
    seen += std::to_string(off.trials) + " trials; ";
  }
  ADD_FAILURE() << seen;
}

// What came of laps where one launch may as well read each array on the host and the one behind it
// needs it on the device, or may as well, too.
vramspanStatistics TwoLaunchesEach(const World& world, const char* overlap, bool needed) {
  const auto kernels =
      vramspan::KernelPricesText({PriceOf(1, /*passes=*/1), PriceOf(2, needed ? 50 : 1)});
  setenv("VRAMSPAN_KERNELS", kernels.c_str(), 1);
  Arrays arrays(world, overlap);
  unsetenv("VRAMSPAN_KERNELS");
  for (unsigned lap = 0; lap < 20; ++lap) {
    for (const Buffer& array : arrays.all) {
      for (const unsigned blocks : {1, 2}) arrays.Launch(array, /*words=*/1 << 12, blocks);
    }
  }
  return arrays.End();
}

// What the next launch needs on the device is not read on the host just before, but the first time.
// And launches are known again, whether they find their memory on the device or not.
TEST_P(TracedTrials, WhatIsNeededNextIsMovedBefore) {
  EXPECT_LE(TwoLaunchesEach(world_, GetParam(), /*needed=*/true).works_in_place, 20u);
  const vramspanStatistics otherwise = TwoLaunchesEach(world_, GetParam(), /*needed=*/false);
  EXPECT_GE(otherwise.works_in_place, 100u);
  EXPECT_GE(otherwise.forecast_hits, 250u);
}

INSTANTIATE_TEST_SUITE_P(Overlaps, TracedTrials, ::testing::Values("safe", "all"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace vramspan_test
