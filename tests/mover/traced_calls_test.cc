// Kernel launches of every kind: the memory that each names is on the device before it runs.
#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class TracedCalls : public TracedTest {
 protected:
  // What add_constant takes for a buffer.
  struct AddArguments {
    CUdeviceptr words;
    size_t count;
    Word value;
  };
  AddArguments ArgumentsOf(size_t i, Word value) {
    Added({i}, value);
    return {buffers_[i].ptr, buffers_[i].words, value};
  }
  void Launch(CUfunction kernel, std::vector<void*> list) {
    EXPECT_CU(
        world_.api().LaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, stream_, list.data(), nullptr));
  }
  // The variant of a function whose null stream is the thread's own.
  template <typename F>
  F PerThread(const char* name) {
    void* found = nullptr;
    EXPECT_CU(DRIVER(cuGetProcAddress)(name, &found, 13000,
                                       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr));
    EXPECT_NE(found, reinterpret_cast<void*>(world_.Symbol<F>(name)));
    return reinterpret_cast<F>(found);
  }
};
INSTANTIATE_TRACED(TracedCalls);

TEST_P(TracedCalls, Function) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ExpectFetched({3}, [&] { Add(3, 5, stream_); });
  ExpectFetched({0}, [&] { Add(0, 7, nullptr); });
}

TEST_P(TracedCalls, KernelOfALibrary) {
  ASSERT_NO_FATAL_FAILURE(Start());
  CUlibrary library = nullptr;
  const auto load = [&](CUlibrary* out, const void* image) {
    return DRIVER(cuLibraryLoadData)(out, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  ASSERT_CU(simcuda::LoadKernels(test_kernels_images(), load, &library));
  CUkernel kernel = nullptr;
  ASSERT_CU(DRIVER(cuLibraryGetKernel)(&kernel, library, "add_constant"));
  ExpectFetched({2}, [&] {
    AddArguments a = ArgumentsOf(2, 9);
    Launch(reinterpret_cast<CUfunction>(kernel), Parameters(a.words, a.count, a.value));
  });
  CUfunction function = nullptr;
  ASSERT_CU(DRIVER(cuKernelGetFunction)(&function, kernel));
  ExpectFetched({5}, [&] {
    AddArguments a = ArgumentsOf(5, 9);
    Launch(function, Parameters(a.words, a.count, a.value));
  });
  Wait(stream_);
  EXPECT_CU(DRIVER(cuLibraryUnload)(library));
}

TEST_P(TracedCalls, ParametersInABuffer) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ExpectFetched({4}, [&] {
    AddArguments a = ArgumentsOf(4, 3);
    size_t size = sizeof(a);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    EXPECT_CU(world_.api().LaunchKernel(world_.Kernel("add_constant"), 4, 1, 1, 64, 1, 1, 0,
                                        stream_, nullptr, extra));
  });
}

TEST_P(TracedCalls, BlockOfFourKilobytes) {
  ASSERT_NO_FATAL_FAILURE(Start());
  PointerBlock block{};
  block.count = kChunkWords;
  block.value = 11;
  block.arrays[0] = Words(0);
  block.arrays[255] = Words(6);
  block.arrays[PointerBlock::kArrays - 1] = Words(7);
  ExpectFetched({0, 6, 7}, [&] { Launch(Traced("add_to_block"), Parameters(block)); });
  Added({0, 6, 7}, 11);
  // The same in a buffer.
  ExpectFetched({0, 6, 7}, [&] {
    size_t size = sizeof(block);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    EXPECT_CU(world_.api().LaunchKernel(Traced("add_to_block"), 4, 1, 1, 64, 1, 1, 0, stream_,
                                        nullptr, extra));
  });
  Added({0, 6, 7}, 11);
}

TEST_P(TracedCalls, StructsWithPointers) {
  ASSERT_NO_FATAL_FAILURE(Start());
  char tag = 'p';
  PointerPair pair{'p', {1, Words(1)}, Words(5)};
  size_t count = kChunkWords;
  Word value = 13;
  ExpectFetched({1, 5},
                [&] { Launch(Traced("add_to_pair"), Parameters(tag, pair, count, value)); });
  Added({1, 5}, 13);
}

TEST_P(TracedCalls, PointerIntoTheMiddle) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ExpectFetched({2}, [&] {
    // All but the first 100 words; the rest by itself.
    AddArguments a = ArgumentsOf(2, 3);
    a.words += 100 * sizeof(Word);
    a.count -= 100;
    Launch(world_.Kernel("add_constant"), Parameters(a.words, a.count, a.value));
  });
  AddArguments a = {buffers_[2].ptr, 100, 3};
  Launch(world_.Kernel("add_constant"), Parameters(a.words, a.count, a.value));
}

TEST_P(TracedCalls, LaunchEx) {
  ASSERT_NO_FATAL_FAILURE(Start());
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.blockDimX = 64;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  ExpectFetched({3}, [&] {
    AddArguments a = ArgumentsOf(3, 17);
    EXPECT_CU(DRIVER(cuLaunchKernelEx)(&config, world_.Kernel("add_constant"),
                                       Parameters(a.words, a.count, a.value).data(), nullptr));
  });
  ExpectFetched({6}, [&] {
    AddArguments a = ArgumentsOf(6, 19);
    size_t size = sizeof(a);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    EXPECT_CU(DRIVER(cuLaunchKernelEx)(&config, world_.Kernel("add_constant"), nullptr, extra));
  });
}

TEST_P(TracedCalls, Cooperative) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ExpectFetched({1}, [&] {
    AddArguments a = ArgumentsOf(1, 23);
    EXPECT_CU(DRIVER(cuLaunchCooperativeKernel)(world_.Kernel("add_constant"), 4, 1, 1, 64, 1, 1, 0,
                                                stream_,
                                                Parameters(a.words, a.count, a.value).data()));
  });
}

// Their null stream is the thread's own.
TEST_P(TracedCalls, PerThreadVariants) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUfunction kernel = world_.Kernel("add_constant");
  const auto launch = PerThread<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  const auto launch_ex = PerThread<decltype(&cuLaunchKernelEx)>("cuLaunchKernelEx");
  const auto cooperative =
      PerThread<decltype(&cuLaunchCooperativeKernel)>("cuLaunchCooperativeKernel");
  for (const CUstream stream : {CUstream{nullptr}, stream_}) {
    Wait(CU_STREAM_PER_THREAD);
    ExpectFetched({0}, [&] {
      AddArguments a = ArgumentsOf(0, 29);
      EXPECT_CU(launch(kernel, 4, 1, 1, 64, 1, 1, 0, stream,
                       Parameters(a.words, a.count, a.value).data(), nullptr));
    });
    Wait(CU_STREAM_PER_THREAD);
  }
  ExpectFetched({4}, [&] {
    AddArguments a = ArgumentsOf(4, 31);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 64;
    config.blockDimY = config.blockDimZ = 1;
    EXPECT_CU(launch_ex(&config, kernel, Parameters(a.words, a.count, a.value).data(), nullptr));
  });
  Wait(CU_STREAM_PER_THREAD);
  // The fourth launch of this kernel: another shape is another kernel to the history.
  NewBuffer(2 * kChunk);
  ExpectFetched({8}, [&] {
    AddArguments a = ArgumentsOf(8, 37);
    EXPECT_CU(cooperative(kernel, 4, 1, 1, 64, 1, 1, 0, nullptr,
                          Parameters(a.words, a.count, a.value).data()));
  });
  Wait(CU_STREAM_PER_THREAD);
}

// What one thread has in its own stream is nothing to the others: nothing of it goes through the
// legacy stream, which would hold them all.
TEST_P(TracedCalls, PerThreadVariantsLeaveOtherThreadsAlone) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUfunction kernel = world_.Kernel("add_constant");
  EXPECT_CU(DRIVER(cuFuncLoad)(kernel));
  const auto launch = PerThread<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({6, 7}));  // So that 0 and 1 are on the device.
  Wait(nullptr);
  const auto add = [&](size_t i) {
    AddArguments a = ArgumentsOf(i, 1);
    EXPECT_CU(launch(kernel, 4, 1, 1, 64, 1, 1, 0, nullptr,
                     Parameters(a.words, a.count, a.value).data(), nullptr));
  };
  HostFlag flag(world_);
  EXPECT_CU(flag.ParkIn(CU_STREAM_PER_THREAD, 1));
  add(0);
  std::thread other([&] {
    EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
    add(1);
    EXPECT_TRUE(
        Eventually([&] { return world_.api().StreamQuery(CU_STREAM_PER_THREAD) == CUDA_SUCCESS; }));
  });
  other.join();
  EXPECT_EQ(world_.api().StreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  flag.Set(1);
  runtime_->Synchronize();
  Wait(CU_STREAM_PER_THREAD);
}

// A launch that the driver refuses leaves nothing behind, and one that names none of our memory is
// none of our business.
TEST_P(TracedCalls, RefusedAndForeignLaunches) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({2}));
  AddArguments a = {buffers_[2].ptr, kChunkWords, 1};
  EXPECT_NE(world_.api().LaunchKernel(world_.Kernel("add_constant"), 0, 1, 1, 64, 1, 1, 0, stream_,
                                      Parameters(a.words, a.count, a.value).data(), nullptr),
            CUDA_SUCCESS);
  runtime_->Synchronize();
  CUdeviceptr foreign = 0;
  ASSERT_CU(world_.api().MemAlloc(&foreign, kChunk));
  const vramspanStatistics before = runtime_->stats();
  Buffer b{foreign, kChunkWords, 1, 0};
  EXPECT_CU(world_.LaunchFill(b, stream_));
  EXPECT_CU(world_.LaunchAdd(b, 2, stream_));
  runtime_->Synchronize();
  Wait(stream_);
  b.add = 2;
  EXPECT_EQ(world_.Wrong(b), "");
  const vramspanStatistics after = runtime_->stats();
  EXPECT_EQ(after.launches, before.launches + 2);
  EXPECT_EQ(after.touches, before.touches);
  EXPECT_EQ(after.works_held, before.works_held);
  // Where a kernel may reach anything, or all memory stays mapped beside it, it is work all the
  // same.
  const bool kept = std::string(GetParam()) == "off" || std::string(GetParam()) == "plausible";
  EXPECT_EQ(after.works, before.works + (kept ? 2 : 0));
  EXPECT_CU(world_.api().MemFree(foreign));
  ExpectFetched({3}, [&] { Add(3, 1, stream_); });
}

// Handles of a module that is gone may name other kernels in the next.
TEST_P(TracedCalls, ModulesComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (int round = 0; round < 3; ++round) {
    // By turns two modules, whose kernels have different parameters.
    CUmodule module = nullptr;
    const bool pairs = round % 2 == 0;
    ASSERT_CU(simcuda::LoadKernels(pairs ? traced_test_kernels_images() : test_kernels_images(),
                                   world_.api().ModuleLoadData, &module));
    CUfunction kernel = nullptr;
    ASSERT_CU(
        world_.api().ModuleGetFunction(&kernel, module, pairs ? "add_to_pair" : "add_constant"));
    ExpectFetched({6}, [&] {
      if (!pairs) {
        AddArguments a = ArgumentsOf(6, 2);
        Launch(kernel, Parameters(a.words, a.count, a.value));
        return;
      }
      char tag = 'q';
      PointerPair pair{'q', {1, Words(6)}, Words(6) + kChunkWords / 2};
      size_t count = kChunkWords / 2;
      Word value = 2;
      Launch(kernel, Parameters(tag, pair, count, value));
      Added({6}, 2);
    });
    // What was known of the world's kernels as well is asked again, once.
    const auto asked = [&] {
      return world_.call_count("cuFuncGetParamInfo") + world_.call_count("cuKernelGetParamInfo");
    };
    Add(0, 1, stream_);
    const long long before = asked();
    Add(0, 1, stream_);
    EXPECT_EQ(asked(), before);
    runtime_->Synchronize();
    EXPECT_CU(world_.api().ModuleUnload(module));
    Add(0, 1, stream_);
    EXPECT_GT(asked(), before);
  }
}

}  // namespace
}  // namespace vramspan_test
