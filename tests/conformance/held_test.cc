// Launches held back by a stream wait on a word of host memory.
#include <atomic>
#include <functional>
#include <vector>

#include "tests/conformance/fixture.h"
#include "tests/kernels/test_kernels.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;

class Held : public Conformance {
 protected:
  Held() : chunk_({Where::kDevice}) {
    Must(world_.MemsetD8(chunk_.at(0), 0, kChunk), "cuMemsetD8");
    Must(cu_.CtxSynchronize(), "cuCtxSynchronize");
  }

  // Adds 1 to the first `count` words.
  CUresult Add(CUfunction kernel, size_t count = 1) {
    return Launch(kernel, 4, 64, stream_.get(), chunk_.at(0), count, Word{1});
  }

  // Whether the first `count` words are all `value`; the stream must have room to run.
  void ExpectWords(size_t count, Word value) {
    CU_OK(cu_.StreamSynchronize(stream_.get()));
    std::vector<Word> words(count);
    CU_OK(world_.MemcpyDtoH(words.data(), chunk_.at(0), count * sizeof(Word)));
    EXPECT_EQ(words, std::vector<Word>(count, value));
  }

  Chunks chunk_;
  const Stream stream_;
};

TEST_F(Held, LaunchesQueueAheadAndAThousandBlockTheCall) {
  constexpr int kLaunches = 3000;
  std::atomic<int> launched{0};
  Gate gate;
  gate.Park(stream_.get());
  Background launcher(gate, world_.primary(), [&] {
    for (; launched < kLaunches; ++launched) {
      Must(Add(world_.Kernel("add_constant")), "cuLaunchKernel");
    }
  });
  EXPECT_TRUE(Eventually([&] { return launched >= 500; })) << launched;
  int seen = 0;
  do {
    seen = launched;
  } while (!StaysFalse([&] { return launched > seen; }));
  EXPECT_LT(seen, kLaunches) << "the call never blocked";
  RecordProperty("launches_behind_a_closed_wait", seen);
  gate.OpenAll();
  launcher.Finish();
  ExpectWords(1, kLaunches);
}

TEST_F(Held, EachLaunchRunsOnTheMappingMadeForIt) {
  constexpr uint32_t kLaunches = 300;
  const size_t words = kChunk / sizeof(Word);
  const Handle host(Where::kHostNuma);
  const Handle* const handles[] = {&chunk_.handle(0), &host};
  Span aliases(2);
  aliases.Map(0, *handles[0]);
  aliases.Map(1, *handles[1]);
  std::vector<CUevent> done(kLaunches + 1);
  for (CUevent& event : done) CU_OK(cu_.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CU_OK(cu_.CtxSynchronize());

  std::atomic<uint32_t> queued{0};
  Gate gate;
  Background launcher(gate, world_.primary(), [&] {
    for (uint32_t i = 1; i <= kLaunches; ++i) {
      gate.Park(stream_.get());
      Must(Add(world_.Kernel("add_constant"), words), "cuLaunchKernel");
      Must(cu_.EventRecord(done[i], stream_.get()), "cuEventRecord");
      queued = i;
    }
  });
  // All of them wait before the first is let go: they really are held.
  EXPECT_TRUE(Eventually([&] { return queued == kLaunches; })) << queued;
  const Current second(world_.second());  // whose copies nothing holds back
  const Stream copies;
  for (uint32_t i = 1; i <= kLaunches; ++i) {
    if (i > 1) {
      CU_OK(cu_.EventSynchronize(done[i - 1]));
    }
    const size_t to = i % 2;
    CU_OK(cu_.MemcpyDtoDAsync(aliases.at(to), aliases.at(1 - to), kChunk, copies.get()));
    CU_OK(cu_.StreamSynchronize(copies.get()));
    chunk_.span().Flip(0, *handles[to]);
    gate.OpenUpTo(i);
  }
  launcher.Finish();
  const Current primary(world_.primary());
  ExpectWords(words, kLaunches);
  for (const CUevent event : done) CU_EXPECT_OK(cu_.EventDestroy(event));
}

TEST_F(Held, OneStoreOpensEveryWaitPublishedByThenAndNoMore) {
  const Pinned reached(sizeof(unsigned));
  volatile unsigned& value = *reached.as<volatile unsigned>();
  value = 0;
  Gate gate;
  for (unsigned i = 1; i <= 8; ++i) {
    ASSERT_EQ(gate.Park(stream_.get()), i);
    CU_OK(Launch(world_.Kernel("set_flag"), 1, 1, stream_.get(), reached.device(), i));
  }
  EXPECT_TRUE(StaysFalse([&] { return value != 0; }));
  gate.OpenUpTo(5);
  EXPECT_TRUE(Eventually([&] { return value == 5; })) << value;
  EXPECT_TRUE(StaysFalse([&] { return value != 5; }));
  gate.OpenUpTo(8);
  EXPECT_TRUE(Eventually([&] { return value == 8; })) << value;
}

// So does nobody load one while a stream may wait for him.
TEST_F(Held, LoadingAndUnloadingAModuleBlocks) {
  CUmodule module = nullptr;
  const auto load = [&] {
    Must(simcuda::LoadKernels(test_kernels_images(), cu_.ModuleLoadData, &module),
         "cuModuleLoadData");
  };
  const auto unload = [&] { Must(cu_.ModuleUnload(module), "cuModuleUnload"); };
  for (const std::function<void()>& call : {std::function<void()>(load), {unload}}) {
    Gate gate;
    gate.Park(stream_.get());
    Background caller(gate, world_.primary(), call);
    EXPECT_TRUE(StaysFalse([&] { return caller.done(); }));
    gate.OpenAll();
    EXPECT_TRUE(Eventually([&] { return caller.done(); }));
    caller.Finish();
  }
}

// Loading a kernel waits for the device, inside the launch.
TEST_F(Held, FirstLaunchOfAKernelThatIsNotLoadedBlocks) {
  CUlibrary library = nullptr;
  const auto load = [&](CUlibrary* loaded, const void* image) {
    return world_.LibraryLoadData(loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  CU_OK(simcuda::LoadKernels(test_kernels_images(), load, &library));
  CUkernel kernel = nullptr;
  CU_OK(world_.LibraryGetKernel(&kernel, library, "add_constant"));
  const auto function = reinterpret_cast<CUfunction>(kernel);
  {
    Gate gate;
    gate.Park(stream_.get());
    Background launch(gate, world_.primary(), [&] { Must(Add(function), "cuLaunchKernel"); });
    EXPECT_TRUE(StaysFalse([&] { return launch.done(); }));
    gate.OpenAll();
    EXPECT_TRUE(Eventually([&] { return launch.done(); }));
    launch.Finish();
  }
  ExpectWords(1, 1);
  {
    Gate gate;
    gate.Park(stream_.get());
    Background launch(gate, world_.primary(), [&] { Must(Add(function), "cuLaunchKernel"); });
    EXPECT_TRUE(Eventually([&] { return launch.done(); })) << "a loaded kernel's launch blocked";
    launch.Finish();
  }
  ExpectWords(1, 2);
  CU_OK(world_.LibraryUnload(library));
}

}  // namespace
}  // namespace vramspan::conformance
