// Where launches are seen, and what happens where they cannot be: an error that says why for
// programs that insist, a runtime for declared work for all others.
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "tests/mover/alone.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

class TracedSource : public MoverTest {
 protected:
  static vramspanConfig ConfigWith(const RuntimeOptions& options, const char* tracer,
                                   const char* overlap = nullptr) {
    vramspanConfig config = Config(options);
    config.tracer = tracer;
    config.overlap = overlap;
    return config;
  }
  // The error's text.
  static std::string Refusal(const char* tracer, const char* overlap = nullptr) {
    const RuntimeOptions options;
    const vramspanConfig config = ConfigWith(options, tracer, overlap);
    vramspanRuntime runtime = nullptr;
    EXPECT_NE(vramspanCreate(&runtime, &config), CUDA_SUCCESS);
    EXPECT_EQ(runtime, nullptr);
    if (runtime != nullptr) vramspanDestroy(runtime);
    return LastError();
  }
  static void ExpectSays(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
  }

  // A program over twice the memory there is, declared or not; how many launches were traced.
  uint64_t Run(const char* tracer, bool declared) {
    RuntimeOptions options;
    options.tracer = tracer;
    TestRuntime runtime(world_, options);
    const CUstream stream = world_.NewStream();
    std::vector<Buffer> buffers = runtime.Filled(8, kChunk, stream);
    const vramspanStatistics before = runtime.stats();
    for (int round = 0; round < 2; ++round) {
      for (Buffer& b : buffers) {
        if (declared) {
          runtime.Add(b, 1, stream);
        } else {
          EXPECT_CU(world_.LaunchAdd(b, 1, stream));
          b.add += 1;
        }
      }
    }
    EXPECT_CU(world_.api().StreamSynchronize(stream));
    runtime.Synchronize();
    const vramspanStatistics after = runtime.stats();
    for (const Buffer& b : buffers) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_EQ(after.works - before.works, declared || after.launches != 0 ? 16u : 0u);
    if (declared) {
      EXPECT_GT(after.evictions, before.evictions);
    }
    EXPECT_SPAN(runtime.Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream));
    return after.launches - before.launches;
  }
  // Programs that do not insist on a tracer go on without.
  void ExpectUntraced() {
    for (const bool declared : {true, false}) EXPECT_EQ(Run("auto", declared), 0u);
  }

  static std::string CuptiOfTheDriver() {
    const std::string driver = std::getenv("VRAMSPAN_DRIVER");
    return driver.substr(0, driver.rfind('/') + 1) + "libcupti.so.13";
  }
  static void Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
  template <typename Function>
  static Function OfCupti(const char* name) {
    void* library = dlopen(CuptiOfTheDriver().c_str(), RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
    return reinterpret_cast<Function>(dlsym(library, name));
  }
  // Whether another tool can have CUPTI; it keeps it.
  static CUptiResult Subscribe() {
    CUpti_SubscriberHandle tool = nullptr;
    return OfCupti<decltype(&cuptiSubscribe)>("cuptiSubscribe")(&tool, &Ignore, nullptr);
  }
  void AddTo(std::vector<Buffer>* buffers, CUstream stream) {
    for (Buffer& b : *buffers) {
      EXPECT_CU(world_.LaunchAdd(b, 1, stream));
      b.add += 1;
    }
  }
  // `wait` runs between what is launched in the stream before and the call that gives CUPTI up.
  void ExpectGivesUp(const std::function<void(CUstream)>& wait) {
    {
      RuntimeOptions options;
      options.tracer = "cupti";
      options.overlap = "safe";
      TestRuntime runtime(world_, options);
      const CUstream stream = world_.NewStream(), other = world_.NewStream();
      std::vector<Buffer> buffers = runtime.Filled(12, kChunk, stream);
      for (int round = 0; round < 4; ++round) AddTo(&buffers, stream);
      wait(stream);
      EXPECT_SPAN(vramspanReleaseCupti());
      EXPECT_EQ(Subscribe(), CUPTI_SUCCESS);
      const vramspanStatistics before = runtime.stats();
      EXPECT_GT(before.evictions, 8u);
      EXPECT_GE(before.launches, 48u);
      for (int round = 0; round < 4; ++round) AddTo(&buffers, stream);
      EXPECT_CU(world_.api().StreamSynchronize(stream));
      AddTo(&buffers, other);
      EXPECT_CU(world_.api().StreamSynchronize(other));
      // Declared work as well runs with its memory where that is.
      for (Buffer& b : buffers) runtime.Add(b, 1, stream);
      runtime.Synchronize();
      for (const Buffer& b : buffers) EXPECT_EQ(world_.Wrong(b), "");
      const vramspanStatistics after = runtime.stats();
      EXPECT_EQ(after.launches, before.launches);
      EXPECT_EQ(after.evictions, before.evictions);
      EXPECT_EQ(after.fetches, before.fetches);
      EXPECT_EQ(after.deadlines, before.deadlines);
      EXPECT_SPAN(vramspanReleaseCupti()) << "there is nothing to give up";
      EXPECT_SPAN(runtime.Destroy());
      EXPECT_CU(world_.api().StreamDestroy(stream));
      EXPECT_CU(world_.api().StreamDestroy(other));
    }
    for (int k = 0; k < 2; ++k) {
      ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", "CUPTI was given up"});
    }
    ExpectUntraced();
  }
};

TEST_F(TracedSource, SeesLaunches) {
  EXPECT_EQ(Run("cupti", /*declared=*/false), 16u);
  EXPECT_EQ(Run("auto", /*declared=*/false), 16u);
  EXPECT_EQ(Run("auto", /*declared=*/true), 0u);
  EXPECT_EQ(Run("off", /*declared=*/true), 0u);
  EXPECT_EQ(Run("off", /*declared=*/false), 0u);
}

// Calls in contexts that have no runtime pass by.
TEST_F(TracedSource, OtherContextsAreNoneOfItsBusiness) {
  RuntimeOptions options;
  options.tracer = "cupti";
  TestRuntime runtime(world_, options);
  const CUstream stream = world_.NewStream();
  const std::vector<Buffer> buffers = runtime.Filled(8, kChunk, stream);
  const vramspanStatistics before = runtime.stats();
  CUcontext other = nullptr, popped = nullptr;
  CUctxCreateParams params{};
  ASSERT_CU(world_.api().CtxCreate(&other, &params, 0, 0));
  CUdeviceptr words = 0;
  ASSERT_CU(world_.api().MemAlloc(&words, kMiB));
  for (int k = 0; k < 10; ++k) {
    EXPECT_CU(world_.api().MemsetD8Async(words, 1, kMiB, nullptr));
  }
  EXPECT_CU(world_.api().CtxSynchronize());
  EXPECT_CU(world_.api().MemFree(words));
  EXPECT_CU(world_.api().CtxPopCurrent(&popped));
  EXPECT_CU(world_.api().CtxDestroy(other));
  EXPECT_EQ(runtime.stats().copies, before.copies);
  EXPECT_CU(world_.api().StreamDestroy(stream));
}

TEST_F(TracedSource, ValuesThatAreNone) {
  for (const char* text : {"hooks?", "maybe", "", "CUPTI", "on", "cupti "}) {
    SCOPED_TRACE(text);
    ExpectSays(Refusal(text),
               {"VRAMSPAN_TRACER", std::string("'") + text + "'", "auto", "cupti", "off"});
  }
  for (const char* text : {"maybe", "", "ALL", "on", "safe,all"}) {
    SCOPED_TRACE(text);
    ExpectSays(Refusal("off", text),
               {"VRAMSPAN_OVERLAP", std::string("'") + text + "'", "off", "safe", "all"});
  }
}

TEST_F(TracedSource, ValuesOfTheEnvironmentThatAreNone) {
  if (!IsAlone()) return ExpectPassesAlone({"VRAMSPAN_TRACER=maybe", "VRAMSPAN_OVERLAP=hooks?"});
  ExpectSays(Refusal(nullptr, "off"), {"VRAMSPAN_TRACER", "'maybe'"});
  ExpectSays(Refusal("off"), {"VRAMSPAN_OVERLAP", "'hooks?'"});
}

TEST_F(TracedSource, CuptiThatIsNotThere) {
  if (!IsAlone()) return ExpectPassesAlone({"VRAMSPAN_CUPTI=/nowhere/libcupti.so.13"});
  for (int k = 0; k < 2; ++k) {
    ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", "CUPTI cannot be opened",
                                  "/nowhere/libcupti.so.13", "VRAMSPAN_CUPTI"});
  }
  ExpectUntraced();
}

TEST_F(TracedSource, LibraryThatIsNoCupti) {
  if (!IsAlone()) {
    return ExpectPassesAlone({std::string("VRAMSPAN_CUPTI=") + std::getenv("VRAMSPAN_DRIVER")});
  }
  ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", "has no cupti"});
  ExpectUntraced();
}

TEST_F(TracedSource, TracerThatIsNotThere) {
  if (!IsAlone()) return ExpectPassesAlone({"VRAMSPAN_CUPTI_TRACER=/nowhere/tracer.so"});
  ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", "cannot be opened", "/nowhere/tracer.so",
                                "VRAMSPAN_CUPTI_TRACER", "libvramspan_cupti_tracer.so"});
  ExpectUntraced();
}

TEST_F(TracedSource, LibraryThatIsNoTracer) {
  const std::string library = std::getenv("VRAMSPAN_DRIVER");
  if (!IsAlone()) return ExpectPassesAlone({"VRAMSPAN_CUPTI_TRACER=" + library});
  ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", library + " is not a launch tracer"});
  ExpectUntraced();
}

TEST_F(TracedSource, AnotherToolHoldsCupti) {
  if (!IsAlone()) return ExpectPassesAlone();
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "the test";
  CUpti_SubscriberHandle tool = nullptr;
  ASSERT_EQ(
      OfCupti<decltype(&cuptiSubscribe_v2)>("cuptiSubscribe_v2")(&tool, &Ignore, nullptr, &params),
      CUPTI_SUCCESS);
  for (int k = 0; k < 2; ++k) {
    ExpectSays(Refusal("cupti"),
               {"VRAMSPAN_TRACER", "another tool holds CUPTI (CUPTI for the test)"});
  }
  ExpectUntraced();
  // The tool has it for as long as it wants, and no longer.
  ASSERT_EQ(OfCupti<decltype(&cuptiUnsubscribe)>("cuptiUnsubscribe")(tool), CUPTI_SUCCESS);
  EXPECT_EQ(Run("cupti", /*declared=*/false), 16u);
}

// Whoever touches memory once CUPTI is given up is not seen, and finds it all the same: what was
// moving or held for has come to rest, and what was left without a mapping has one.
TEST_F(TracedSource, GivesCuptiUpAtWork) {
  if (!IsAlone()) return ExpectPassesAlone();
  ExpectGivesUp([](CUstream) {});
}

TEST_F(TracedSource, GivesCuptiUpAtRest) {
  if (!IsAlone()) return ExpectPassesAlone();
  ExpectGivesUp([&](CUstream stream) { EXPECT_CU(world_.api().StreamSynchronize(stream)); });
}

// The exit of a call that the tracer saw begin must not be missed: the gate would stay open.
TEST_F(TracedSource, ACallUnderWayKeepsCupti) {
  if (!IsAlone()) return ExpectPassesAlone();
  RuntimeOptions options;
  options.tracer = "cupti";
  options.deadline_us = 50'000;
  TestRuntime runtime(world_, options);
  const CUstream stream = world_.NewStream();
  std::vector<Buffer> buffers = runtime.Filled(8, kChunk, stream);
  HostFlag flag(world_);
  const vramspanStatistics before = runtime.stats();
  std::thread copies([&] {
    EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
    const CUstream own = world_.NewStream();
    EXPECT_CU(flag.SpinIn(own, 1));
    std::vector<Word> words(kChunk / sizeof(Word));
    // To pageable memory: the call waits.
    EXPECT_CU(world_.api().MemcpyDtoHAsync(words.data(), buffers[0].ptr, kChunk, own));
    EXPECT_CU(world_.api().StreamDestroy(own));
  });
  while (runtime.stats().copies == before.copies) std::this_thread::yield();
  EXPECT_EQ(vramspanReleaseCupti(), CUDA_ERROR_TIMEOUT);
  ExpectSays(LastError(), {"CUPTI is kept", "a traced call has not returned", "try again"});
  EXPECT_EQ(Subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  flag.Set(1);
  copies.join();
  EXPECT_SPAN(vramspanReleaseCupti());
  EXPECT_EQ(Subscribe(), CUPTI_SUCCESS);
  AddTo(&buffers, stream);
  EXPECT_CU(world_.api().StreamSynchronize(stream));
  for (const Buffer& b : buffers) EXPECT_EQ(world_.Wrong(b), "");
  EXPECT_SPAN(runtime.Destroy());
  EXPECT_CU(world_.api().StreamDestroy(stream));
}

TEST_F(TracedSource, GivesCuptiUpWhileThreadsLaunch) {
  if (!IsAlone()) return ExpectPassesAlone();
  RuntimeOptions options;
  options.tracer = "cupti";
  options.overlap = "all";
  TestRuntime runtime(world_, options);
  const CUstream stream = world_.NewStream();
  std::vector<std::vector<Buffer>> buffers(4);
  for (std::vector<Buffer>& mine : buffers) mine = runtime.Filled(4, kChunk, stream);
  std::atomic<int> rounds{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::vector<Buffer>& mine : buffers) {
    threads.emplace_back([&] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      const CUstream own = world_.NewStream();
      while (!stop.load()) {
        AddTo(&mine, own);
        rounds.fetch_add(1);
      }
      EXPECT_CU(world_.api().StreamSynchronize(own));
      EXPECT_CU(world_.api().StreamDestroy(own));
    });
  }
  const auto wait = [&](int more) {
    const int before = rounds.load();
    while (rounds.load() < before + more) std::this_thread::yield();
  };
  wait(12);
  EXPECT_SPAN(vramspanReleaseCupti());
  EXPECT_EQ(Subscribe(), CUPTI_SUCCESS);
  wait(12);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  runtime.Synchronize();
  for (const std::vector<Buffer>& mine : buffers) {
    for (const Buffer& b : mine) EXPECT_EQ(world_.Wrong(b), "");
  }
  EXPECT_SPAN(runtime.Destroy());
  EXPECT_CU(world_.api().StreamDestroy(stream));
}

}  // namespace
}  // namespace vramspan_test
