// For every driver call that the runtime makes, in every stage of a program's life in which it
// makes it, with and without a context of its own: the call fails once, early or late, or from some
// time on always. After each, no word of memory is wrong, the statistics add up, the caller has got
// an error that names the call, and with the failure gone a whole program works.
//
// The calls come from the driver's table, so that a call added there is tested or has to be
// excepted here with a reason. Which of them a stage makes, and how often, is counted first.
//
// VRAMSPAN_TEST_EVERY_CALL=1 fails every single call of each kind in its turn, alone and with all
// later ones, which takes many minutes, instead of a few picked ones.
//
// docs/life-of-a-launch.md, "When something does not go as planned", is the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/mover/scenario.h"

namespace vramspan_test {
namespace {

constexpr const char* kCalls[] = {
#define X(field, symbol) #symbol,
    VRAMSPAN_DRIVER_CALLS(X)
#undef X
};

// Calls of the table that no runtime makes, and who does.
const std::map<std::string, const char*>& Excepted() {
  static const auto* const calls = new std::map<std::string, const char*>{
      {"cuCtxSetCurrent", "tools and tests"},
      {"cuCtxSynchronize", "the probe of backing/host_access.cc"},
      {"cuMemcpyAsync", "programs"},
      {"cuMemcpyHtoDAsync_v2", "the probe of backing/host_access.cc"},
      {"cuStreamWaitEvent", "programs"},
      {"cuEventSynchronize", "the measurements of backing/costs.cc"},
      {"cuEventElapsedTime", "the measurements of backing/costs.cc"},
      {"cuLaunchKernel", "where it fails the program's launches do as well"},
      {"cuKernelGetName", "the audit"},
      {"cuFuncGetName", "the audit"},
      {"cuKernelGetLibrary", "the decoder of observe/"},
      {"cuKernelGetFunction", "the decoder of observe/"},
      {"cuFuncGetModule", "the decoder of observe/"},
      {"cuKernelGetParamInfo", "the decoder of observe/"},
      {"cuFuncGetParamInfo", "the decoder of observe/"},
      {"cuGraphGetNodes", "the decoder of observe/"},
      {"cuGraphNodeGetType", "the decoder of observe/"},
      {"cuGraphKernelNodeGetParams_v2", "the decoder of observe/"},
      {"cuGraphKernelNodeGetAttribute", "the decoder of observe/"},
      {"cuGraphMemcpyNodeGetParams", "the decoder of observe/"},
      {"cuGraphMemsetNodeGetParams", "the decoder of observe/"},
      {"cuGraphBatchMemOpNodeGetParams", "the decoder of observe/"},
      {"cuGraphChildGraphNodeGetGraph", "the decoder of observe/"},
  };
  return *calls;
}

struct Point {
  Mode mode;
  Stage stage;
};

// The rest differs from these in nothing that matters here.
constexpr Point kPoints[] = {
    {Mode::kOwnContext, Stage::kCreate},     {Mode::kOwnContext, Stage::kRun},
    {Mode::kOwnContext, Stage::kDestroy},    {Mode::kSharedContext, Stage::kRun},
    {Mode::kSharedContext, Stage::kDestroy}, {Mode::kPrimary, Stage::kCreate},
    {Mode::kPrimary, Stage::kDestroy}};

std::string Text(const Point& p) {
  return std::string(StageName(p.stage)) + ", " + ModeName(p.mode);
}

struct Made {
  Point at;
  std::map<std::string, unsigned long long> calls;  // How often.
};

// What each point makes in a run without failures.
const std::vector<Made>& AllMade() {
  static const auto* const all = [] {
    auto* const made = new std::vector<Made>();
    for (const Point& at : kPoints) {
      const Watchdog watchdog("counting calls: " + Text(at));
      World world;
      Scenario scenario(world, at.mode);
      scenario.Before(at.stage);
      world.reset();
      const auto launches = world.launches();
      scenario.Do(at.stage);
      made->push_back({at, {}});
      for (const char* call : kCalls) {
        auto count = static_cast<unsigned long long>(world.call_count(call));
        if (call == std::string("cuLaunchKernel")) count -= world.launches() - launches;
        if (count != 0) made->back().calls[call] = count;
      }
      EXPECT_EQ(scenario.errors(), std::vector<std::string>()) << Text(at);
    }
    return made;
  }();
  return *all;
}

// How often a point makes a call; 0 where an earlier point tests the same.
unsigned long long CountAt(const Made& made, const std::string& call) {
  const auto count = made.calls.find(call);
  if (count == made.calls.end()) return 0;
  if (made.at.mode == Mode::kPrimary) {
    for (const Made& other : AllMade()) {
      if (other.at.mode == Mode::kOwnContext && other.at.stage == made.at.stage &&
          other.calls.contains(call)) {
        return 0;
      }
    }
  }
  return count->second;
}

// "cuMemAlloc" for "cuMemAlloc_v2": as the documentation, and so our messages, call it.
std::string BaseName(const std::string& symbol) { return symbol.substr(0, symbol.find("_v")); }

TEST(FailuresTest, EveryCallIsMadeOrExceptedWithAReason) {
  std::set<std::string> made, listed;
  for (const Made& each : AllMade()) {
    for (const auto& [call, count] : each.calls) made.insert(call);
  }
  for (const char* call : kCalls) {
    listed.insert(call);
    if (call == std::string("cuLaunchKernel")) continue;  // Made by both sides.
    EXPECT_NE(made.contains(call), Excepted().contains(call))
        << call << (made.contains(call) ? " is made after all" : " is never made: why?");
  }
  for (const auto& [call, reason] : Excepted()) {
    EXPECT_TRUE(listed.contains(call)) << call << " is not in the driver's table";
  }
}

// Whoever waits long asks now and then whether the context still lives. A query that fails for
// another reason does not say that its work has ended: memory in use stays where it is.
TEST(FailuresTest, ALiveContextIsNotTakenForDead) {
  Watchdog watchdog("waiting for long work while cuStreamQuery fails", 20);
  World world;
  const CUstream works = world.NewStream(), moves = world.NewStream();
  {
    TestRuntime runtime(world);
    std::vector<Buffer> buffers = runtime.Filled(6, kChunk, works);
    Buffer& used = buffers[0];
    runtime.Add(used, 1, works);  // Loads the kernel, which is not to be done behind a running one.
    EXPECT_SPAN(
        vramspanMemPrefetchAsync(runtime.get(), used.ptr, kChunk, VRAMSPAN_LOCATION_DEVICE, works));
    runtime.Synchronize();
    ASSERT_EQ(runtime.OnDevice(used), kChunk);
    HostFlag flag(world);
    watchdog.Doing("long work is submitted");
    runtime.Begin(works, {used.range(VRAMSPAN_READ | VRAMSPAN_WRITE)});
    EXPECT_CU(flag.SpinIn(works, 1));
    EXPECT_CU(world.LaunchAdd(used, 1, works));
    runtime.End(works);
    used.add += 1;

    ASSERT_EQ(world.fail("cuStreamQuery", 1, -1, CUDA_ERROR_UNKNOWN), 0);
    CUresult synchronized = CUDA_SUCCESS;
    std::thread waits([&] { synchronized = vramspanSynchronize(runtime.get()); });
    watchdog.Doing("somebody asks whether the context lives");
    while (world.failed_calls() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_SPAN(
        vramspanMemPrefetchAsync(runtime.get(), used.ptr, kChunk, VRAMSPAN_LOCATION_HOST, moves));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    while (std::chrono::steady_clock::now() < until) {
      ASSERT_EQ(runtime.OnDevice(used), kChunk) << "moved under a kernel that may use it";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    watchdog.Doing("the work ends");
    world.reset();
    flag.Set(1);
    waits.join();
    EXPECT_EQ(synchronized, CUDA_ERROR_UNKNOWN) << "the failed query";
    runtime.Add(used, 1, works);
    runtime.Synchronize();
    for (const Buffer& b : buffers) EXPECT_EQ(world.Wrong(b), "");
  }
  EXPECT_CU(world.api().StreamDestroy(works));
  EXPECT_CU(world.api().StreamDestroy(moves));
}

// Destruction waits for what is under way, and who waits long asks as above. What fails meanwhile
// is told by the call that destroys, and by no later one.
TEST(FailuresTest, WhatFailsWhileARuntimeEndsIsTold) {
  Watchdog watchdog("a runtime ends beside long work while a call fails", 20);
  World world;
  const CUstream works = world.NewStream();
  {
    TestRuntime runtime(world);
    Buffer used = runtime.Filled(1, kChunk, works)[0];
    runtime.Filled(5, kChunk, works);
    runtime.Add(used, 1, works);
    runtime.Synchronize();
    HostFlag flag(world);
    runtime.Begin(works, {used.range(VRAMSPAN_READ | VRAMSPAN_WRITE)});
    EXPECT_CU(flag.SpinIn(works, 1));
    runtime.End(works);
    EXPECT_SPAN(
        vramspanMemPrefetchAsync(runtime.get(), used.ptr, kChunk, VRAMSPAN_LOCATION_HOST, works));

    ASSERT_EQ(world.fail("cuThreadExchangeStreamCaptureMode", 1, 1, CUDA_ERROR_UNKNOWN), 0);
    watchdog.Doing("the runtime ends");
    CUresult destroyed = CUDA_SUCCESS;
    std::string error;
    std::thread ends([&] {
      destroyed = runtime.Destroy();
      error = LastError();
    });
    while (world.failed_calls() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    flag.Set(1);
    ends.join();
    EXPECT_EQ(destroyed, CUDA_ERROR_UNKNOWN);
    EXPECT_THAT(error, testing::HasSubstr("cuThreadExchangeStreamCaptureMode"));
  }
  EXPECT_CU(world.api().StreamDestroy(works));
}

struct Failure {
  unsigned long long nth;
  long long count;  // -1: that one and all later ones.
  CUresult result;
};

std::string Text(const Failure& f) {
  return "call " + std::to_string(f.nth) + (f.count < 0 ? " and all later ones" : "") + " with " +
         vramspan::CuResultName(f.result);
}

std::vector<Failure> FailuresFor(unsigned long long made, const Point& at) {
  std::vector<Failure> failures;
  const bool every = std::getenv("VRAMSPAN_TEST_EVERY_CALL") != nullptr;
  const bool running = at.stage == Stage::kRun;
  std::set<unsigned long long> picked = {made / 2 + 1};
  if (at.mode == Mode::kOwnContext) picked.insert(1);
  if (at.mode == Mode::kOwnContext && running) picked.insert({made / 4 + 1, made * 3 / 4 + 1});
  for (unsigned long long n = 1; n <= made; ++n) {
    if (every || picked.contains(n)) failures.push_back({n, 1, CUDA_ERROR_UNKNOWN});
    if (every && n != 1) failures.push_back({n, -1, CUDA_ERROR_UNKNOWN});
  }
  failures.push_back({1, -1, CUDA_ERROR_UNKNOWN});
  if (at.mode == Mode::kOwnContext && running && made > 1) {
    failures.push_back({made / 2 + 1, -1, CUDA_ERROR_OUT_OF_MEMORY});
  }
  return failures;
}

// Where a mapping can be neither made nor put back, work that names the memory waits until it can
// (docs/life-of-a-launch.md), and so does the program, should it wait for that work. The
// error does not wait. So somebody has to ask for it, and to end the failure. What is being filled
// where it is to be used, and is not wanted there any more, waits for an unmap as well: seldom, so
// that the program ends without that in most runs.
class Mender {
 public:
  Mender(World& world, Scenario& scenario, bool seldom)
      : thread_([this, &world, &scenario, seldom] {
          while (!end_ && world.failed_calls() == 0) std::this_thread::sleep_for(kStep);
          for (int i = 0; !end_ && i < (seldom ? 5000 : 25); ++i) {
            std::this_thread::sleep_for(kStep);
            scenario.TakeBackgroundError();
          }
          failed_ = world.failed_calls();
          world.reset();
        }) {}
  ~Mender() { End(); }

  // How many calls had failed.
  unsigned long long End() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    return failed_;
  }

 private:
  static constexpr std::chrono::milliseconds kStep{2};
  std::atomic<bool> end_{false};
  unsigned long long failed_ = 0;
  std::thread thread_;
};

bool MayLeaveUnmapped(const std::string& call, const Failure& f) {
  return f.count < 0 && (call == "cuMemMap" || call == "cuMemSetAccess" || call == "cuMemUnmap");
}

// A place that gives no host memory is none where another does (backing/host_place.h). Out of
// memory is no failure where other memory does: the host's for an allocation that finds no room on
// the device, the program's context for the mover's own.
bool IsWorkedAround(const std::string& call, const Failure& f, const Point& at) {
  if (at.stage == Stage::kCreate && f.count == 1 &&
      (call == "cuMemCreate" || call == "cuMemMap" || call == "cuMemSetAccess" ||
       call == "cuMemAddressReserve" || call == "cuMemGetAllocationGranularity")) {
    return true;
  }
  return f.result == CUDA_ERROR_OUT_OF_MEMORY &&
         (call == "cuMemCreate" || call == "cuCtxCreate_v4");
}

class FailuresOf : public testing::TestWithParam<const char*> {
 protected:
  void Try(const Point& at, const Failure& failure) {
    const std::string call = GetParam();
    SCOPED_TRACE(Text(at) + ": " + Text(failure));
    Watchdog watchdog(call + " fails, " + Text(at) + ", " + Text(failure));
    World world;
    Scenario scenario(world, at.mode);
    watchdog.Doing("what comes before");
    scenario.Before(at.stage);
    ASSERT_EQ(scenario.errors(), std::vector<std::string>()) << "before the failure";

    watchdog.Doing("the calls fail");
    world.reset();
    ASSERT_EQ(world.fail(call.c_str(), failure.nth, failure.count, failure.result), 0);
    unsigned long long failed = 0;
    {
      std::unique_ptr<Mender> mender;
      if (at.stage == Stage::kRun && MayLeaveUnmapped(call, failure)) {
        mender = std::make_unique<Mender>(world, scenario, /*seldom=*/call == "cuMemUnmap");
      }
      scenario.Do(at.stage);
      if (mender != nullptr) failed = mender->End();
    }
    failed = std::max(failed, world.failed_calls());
    failed_ += failed;

    watchdog.Doing("the calls work again");
    world.reset();
    scenario.Recover();
    if (failed != 0 && !IsWorkedAround(call, failure, at)) {
      EXPECT_TRUE(scenario.Named(BaseName(call)))
          << failed << " calls failed; the errors: " << testing::PrintToString(scenario.errors());
    }
    EXPECT_EQ(world.stale_uses(), 0u) << "a handle was used after its end";
  }

  unsigned long long failed_ = 0;  // Calls, in all tries.
};

TEST_P(FailuresOf, OnceAndAlways) {
  for (const Made& made : AllMade()) {
    const unsigned long long count = CountAt(made, GetParam());
    if (count == 0) continue;
    for (const Failure& failure : FailuresFor(count, made.at)) {
      Try(made.at, failure);
      if (HasFatalFailure()) return;
    }
  }
  // Not for every try: what the background does in a stage differs from run to run.
  EXPECT_GT(failed_, 0u) << "the call was never made";
}

std::vector<const char*> CallsTested() {
  std::vector<const char*> calls;
  for (const char* call : kCalls) {
    if (!Excepted().contains(call)) calls.push_back(call);
  }
  return calls;
}

INSTANTIATE_TEST_SUITE_P(, FailuresOf, testing::ValuesIn(CallsTested()),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace vramspan_test
