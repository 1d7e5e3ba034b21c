// Where launches are seen, and what happens where they cannot be: an error that says why for
// programs that insist, a runtime for declared work for all others.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

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
               {"VRAMSPAN_TRACER", std::string("\"") + text + "\"", "auto", "cupti", "off"});
  }
  for (const char* text : {"maybe", "", "ALL", "on", "safe,all"}) {
    SCOPED_TRACE(text);
    ExpectSays(Refusal("off", text),
               {"VRAMSPAN_OVERLAP", std::string("\"") + text + "\"", "off", "safe", "all"});
  }
}

TEST_F(TracedSource, ValuesOfTheEnvironmentThatAreNone) {
  if (!IsAlone()) return ExpectPassesAlone({"VRAMSPAN_TRACER=maybe", "VRAMSPAN_OVERLAP=hooks?"});
  ExpectSays(Refusal(nullptr, "off"), {"VRAMSPAN_TRACER", "\"maybe\""});
  ExpectSays(Refusal("off"), {"VRAMSPAN_OVERLAP", "\"hooks?\""});
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
  ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", library + " is no launch tracer"});
  ExpectUntraced();
}

TEST_F(TracedSource, AnotherToolHoldsCupti) {
  if (!IsAlone()) return ExpectPassesAlone();
  void* library = dlopen(CuptiOfTheDriver().c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto subscribe =
      reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  const auto unsubscribe =
      reinterpret_cast<decltype(&cuptiUnsubscribe)>(dlsym(library, "cuptiUnsubscribe"));
  CUpti_SubscriberHandle tool = nullptr;
  ASSERT_EQ(subscribe(&tool, &Ignore, nullptr), CUPTI_SUCCESS);
  for (int k = 0; k < 2; ++k) {
    ExpectSays(Refusal("cupti"), {"VRAMSPAN_TRACER", "another tool holds CUPTI"});
  }
  ExpectUntraced();
  // The tool has it for as long as it wants, and no longer.
  ASSERT_EQ(unsubscribe(tool), CUPTI_SUCCESS);
  EXPECT_EQ(Run("cupti", /*declared=*/false), 16u);
}

}  // namespace
}  // namespace vramspan_test
