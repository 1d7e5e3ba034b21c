// Kernel launches: where their pointers are found, and when the driver is asked.

#include <cstring>
#include <thread>

#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LaunchTest : public DecoderTest {
 protected:
  static long long Questions() {
    return simcudaCallCount("cuKernelGetParamInfo") + simcudaCallCount("cuFuncGetParamInfo");
  }
};

TEST_F(LaunchTest, PointersInParameters) {
  CUdeviceptr words = At(4096);
  size_t count = 16;
  Word value = At(arena_size_);  // The first address beyond.
  void* parameters[] = {&words, &count, &value};
  const CUfunction fill = Function("fill");
  const Submission s = Decode(CALL(cuLaunchKernel), Launch(fill, parameters, nullptr, stream_));
  EXPECT_EQ(s.kind, Kind::kKernel);
  EXPECT_EQ(s.code, fill);
  EXPECT_EQ(s.stream, stream_);
  EXPECT_FALSE(s.incomplete);
  EXPECT_THAT(s.touches, ElementsAre(Slot(4096, 0)));

  value = At(arena_size_ - 1);
  words = arena_;
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, parameters)),
              ElementsAre(Slot(0, 0), Slot(arena_size_ - 1, 2)));
  words = arena_ - 1;
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, parameters)), SizeIs(1));
}

TEST_F(LaunchTest, PointersInStructs) {
  auto arrays = vramspan_test::Arrays{'x', static_cast<Word*>(PointerAt(1 << 20)),
                                      static_cast<Word*>(PointerAt(8)), nullptr, At(3)};
  void* parameters[] = {&arrays};
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(Function("add_arrays"), parameters)),
              ElementsAre(Slot(1 << 20, 1), Slot(8, 2), Slot(3, 4)));

  // int first at 0, the struct at 8 with its pointer at 16 of it, void* last at 32.
  int first = 0;
  vramspan_test::Nested nested = {7, {3, PointerAt(640)}};
  void* last = PointerAt(0);
  void* several[] = {&first, &nested, &last};
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(Observed("nested"), several)),
              ElementsAre(Slot(640, 3), Slot(0, 4)));
}

TEST_F(LaunchTest, AboutAsManyBlocksAreAboutTheSameShape) {
  CUdeviceptr words = At(4096);
  size_t count = 16;
  Word value = 1;
  void* parameters[] = {&words, &count, &value};
  cuLaunchKernel_params launch = Launch(Function("fill"), parameters);
  const auto shape = [&](unsigned x, unsigned y, unsigned threads) {
    launch.gridDimX = x;
    launch.gridDimY = y;
    launch.blockDimX = threads;
    const Submission s = Decode(CALL(cuLaunchKernel), launch);
    return std::pair(s.shape, s.rough_shape);
  };
  const auto first = shape(1024, 3, 128);
  EXPECT_NE(shape(1500, 3, 128).first, first.first);
  EXPECT_EQ(shape(1500, 3, 128).second, first.second);
  EXPECT_NE(shape(1536, 3, 128).second, first.second) << "half as many again";
  EXPECT_NE(shape(1024, 4, 128).second, first.second);
  EXPECT_NE(shape(3, 1024, 128).second, first.second);
  EXPECT_NE(shape(1024, 3, 129).second, first.second) << "that does not follow from data";
}

TEST_F(LaunchTest, NumbersTellLaunchesApart) {
  CUdeviceptr words = At(4096);
  size_t count = 16;
  Word value = 1;
  void* parameters[] = {&words, &count, &value};
  const auto numbers = [&] {
    return Decode(CALL(cuLaunchKernel), Launch(Function("fill"), parameters)).numbers;
  };
  const uint64_t first = numbers();
  words = At(8192);
  EXPECT_EQ(numbers(), first) << "whichever the pointer";
  count = 17;
  EXPECT_NE(numbers(), first);
  count = 16;
  value = At(0);
  EXPECT_NE(numbers(), first) << "a number is no pointer";

  // Numbers of four bytes lie in no slot.
  int small = 0;
  vramspan_test::Nested nested = {7, {3, PointerAt(640)}};
  void* last = PointerAt(0);
  void* several[] = {&small, &nested, &last};
  const auto of_nested = [&] {
    return Decode(CALL(cuLaunchKernel), Launch(Observed("nested"), several)).numbers;
  };
  const uint64_t zero = of_nested();
  EXPECT_EQ(of_nested(), zero);
  small = 1;
  EXPECT_NE(of_nested(), zero);
}

TEST_F(LaunchTest, NumbersAreKeptWhileTheyAreFew) {
  CUdeviceptr words = At(4096);
  size_t count = 16;
  Word value = 1;
  void* parameters[] = {&words, &count, &value};
  EXPECT_THAT(Decode(CALL(cuLaunchKernel), Launch(Function("fill"), parameters)).words,
              ElementsAre(16, 1));

  vramspan_test::Block4K block = {};
  long long first = 0;
  void* many[] = {&first, &block};
  EXPECT_THAT(Decode(CALL(cuLaunchKernel), Launch(Observed("block_4k"), many)).words, IsEmpty());
}

TEST_F(LaunchTest, StructsThatStartBetweenSlots) {
  const auto first = std::make_unique<int>(0);
  const auto ints = std::make_unique<vramspan_test::Ints>();
  void* parameters[] = {first.get(), ints.get()};
  const uint64_t pointers[] = {At(8), At(16)};
  std::memcpy(&ints->values[1], pointers, sizeof(pointers));
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(Observed("ints"), parameters)),
              ElementsAre(Slot(8, 1), Slot(16, 2)));
}

TEST_F(LaunchTest, NothingIsReadBeyondParameters) {
  // Each is the last of its memory for AddressSanitizer to watch.
  const auto a = std::make_unique<int>(1), b = std::make_unique<int>(2);
  const auto c = std::make_unique<short>(short{3});
  const auto d = std::make_unique<char>('d');
  void* parameters[] = {a.get(), b.get(), c.get(), d.get()};
  const Submission small = Decode(CALL(cuLaunchKernel), Launch(Observed("small_ones"), parameters));
  EXPECT_EQ(small.kind, Kind::kKernel);
  EXPECT_THAT(small.touches, IsEmpty());
  const Submission none = Decode(CALL(cuLaunchKernel), Launch(Function("nothing"), parameters));
  EXPECT_EQ(none.kind, Kind::kKernel);
  EXPECT_THAT(none.touches, IsEmpty());
}

TEST_F(LaunchTest, BlocksOfEverySize) {
  long long first = 0;
  vramspan_test::Block4K block{};
  block.pointers[0] = PointerAt(1);
  block.pointers[300] = PointerAt(2);
  block.pointers[510] = PointerAt(3);
  void* parameters[] = {&first, &block};
  const CUfunction block_4k = Observed("block_4k");
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(block_4k, parameters)),
              ElementsAre(Slot(1, 1), Slot(2, 301), Slot(3, 511)));

  const auto large = std::make_unique<vramspan_test::Block32K>();
  for (uint64_t i = 0; i < std::size(large->pointers); ++i) large->pointers[i] = PointerAt(i);
  void* large_parameters[] = {large.get()};
  const CUfunction block_32k = Observed("block_32k");
  const std::vector<Touch> touches =
      TouchesOf(CALL(cuLaunchKernel), Launch(block_32k, large_parameters));
  ASSERT_THAT(touches, SizeIs(4094));
  EXPECT_EQ(touches.back(), Slot(4093, 4093));
}

TEST_F(LaunchTest, ParametersInABuffer) {
  const uint64_t packed[] = {1, At(72), 3, At(80)};
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint64_t*>(packed),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  const CUfunction fill = Function("fill");
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, nullptr, extra)),
              ElementsAre(Slot(72, 1), Slot(80, 3)));
  EXPECT_EQ(Questions(), 0) << "a buffer is scanned whole";
  size = sizeof(packed) - 1;
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, nullptr, extra)),
              ElementsAre(Slot(72, 1)));

  // What the driver refuses names nothing.
  void* unknown[] = {reinterpret_cast<void*>(9), &size, CU_LAUNCH_PARAM_END};
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, nullptr, unknown)), IsEmpty());
  void* half[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint64_t*>(packed),
                  CU_LAUNCH_PARAM_END};
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, nullptr, half)), IsEmpty());
  uint64_t words = At(8);
  void* parameters[] = {&words, &words, &words};
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, parameters, extra)), IsEmpty());
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(fill, nullptr, nullptr)), IsEmpty());
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), Launch(nullptr, parameters)), IsEmpty());
}

TEST_F(LaunchTest, EveryEntryPoint) {
  uint64_t words = At(24), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  const CUfunction fill = Function("fill");
  const auto is_fill = [&](const Submission& s, CUstream stream) {
    EXPECT_EQ(s.kind, Kind::kKernel);
    EXPECT_EQ(s.stream, stream);
    EXPECT_EQ(s.code, fill);
    EXPECT_THAT(s.touches, ElementsAre(Slot(24, 0)));
  };
  const auto launch = Launch(fill, parameters);
  is_fill(Decode(CALL(cuLaunchKernel), launch), nullptr);
  is_fill(Decode(CALL(cuLaunchKernel_ptsz), launch), CU_STREAM_PER_THREAD);
  is_fill(Decode(CALL(cuLaunchKernel_ptsz), Launch(fill, parameters, nullptr, CU_STREAM_LEGACY)),
          nullptr);
  is_fill(Decode(CALL(cuLaunchKernel), Launch(fill, parameters, nullptr, CU_STREAM_PER_THREAD)),
          CU_STREAM_PER_THREAD);
  is_fill(Decode(CALL(cuLaunchKernel_ptsz), Launch(fill, parameters, nullptr, stream_)), stream_);

  CUlaunchConfig config{};
  config.hStream = stream_;
  const cuLaunchKernelEx_params ex = {&config, fill, parameters, nullptr};
  is_fill(Decode(CALL(cuLaunchKernelEx), ex), stream_);
  config.hStream = nullptr;
  is_fill(Decode(CALL(cuLaunchKernelEx_ptsz), ex), CU_STREAM_PER_THREAD);

  const cuLaunchCooperativeKernel_params cooperative = {fill, 1, 1, 1,       1,
                                                        1,    1, 0, stream_, parameters};
  is_fill(Decode(CALL(cuLaunchCooperativeKernel), cooperative), stream_);
  is_fill(Decode(CALL(cuLaunchCooperativeKernel_ptsz), cooperative), stream_);

  CUDA_LAUNCH_PARAMS one = {fill, 1, 1, 1, 1, 1, 1, 0, stream_, parameters};
  const Submission several = Decode(
      CALL(cuLaunchCooperativeKernelMultiDevice),
      cuLaunchCooperativeKernelMultiDevice_params{.launchParamsList = &one, .numDevices = 1});
  EXPECT_EQ(several.kind, Kind::kUnknown);
  EXPECT_EQ(several.stream, stream_);
  const Submission legacy = Decode(CALL(cuLaunchGrid), cuLaunchGrid_params{fill, 1, 1});
  EXPECT_EQ(legacy.kind, Kind::kUnknown);
  EXPECT_TRUE(legacy.incomplete);
}

TEST_F(LaunchTest, KernelsOfLibraries) {
  CUlibrary library = nullptr;
  SIM_OK(simcuda::LoadKernels(
      test_kernels_images(),
      [](CUlibrary* out, const void* image) {
        return cuLibraryLoadData(out, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
      },
      &library));
  CUkernel kernel = nullptr;
  SIM_OK(cuLibraryGetKernel(&kernel, library, "fill"));
  uint64_t words = At(24), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  const auto launch = Launch(reinterpret_cast<CUfunction>(kernel), parameters);
  const Submission s = Decode(CALL(cuLaunchKernel), launch);
  EXPECT_EQ(s.code, kernel);
  EXPECT_THAT(s.touches, ElementsAre(Slot(24, 0)));
  SIM_OK(cuLibraryGetKernel(&kernel, library, "nothing"));
  EXPECT_EQ(
      Decode(CALL(cuLaunchKernel), Launch(reinterpret_cast<CUfunction>(kernel), parameters)).kind,
      Kind::kKernel);

  Defining(CALL(cuLibraryUnload), cuLibraryUnload_params{library});
  SIM_OK(cuLibraryUnload(library));
  Defined(CALL(cuLibraryUnload), cuLibraryUnload_params{library});
  EXPECT_EQ(Decode(CALL(cuLaunchKernel), launch).kind, Kind::kUnknown);
}

TEST_F(LaunchTest, TheDriverIsAskedOnce) {
  uint64_t words = At(24), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  const auto launch = Launch(Function("fill"), parameters);
  Decode(CALL(cuLaunchKernel), launch);
  const long long asked = Questions();
  EXPECT_GT(asked, 0);
  for (int i = 0; i < 100; ++i) Decode(CALL(cuLaunchKernel), launch);
  EXPECT_EQ(Questions(), asked);
  const auto empty = Launch(Function("nothing"), parameters);
  Decode(CALL(cuLaunchKernel), empty);
  const long long asked_of_empty = Questions();
  Decode(CALL(cuLaunchKernel), empty);
  EXPECT_EQ(Questions(), asked_of_empty);
}

TEST_F(LaunchTest, LayoutsGoWithTheirModule) {
  uint64_t words = At(24), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  const auto launch = Launch(Function("fill"), parameters);
  for (const uint32_t call :
       {CALL(cuModuleUnload), CALL(cuLibraryUnload), CALL(cuCtxDestroy_v2),
        CALL(cuDevicePrimaryCtxRelease_v2), CALL(cuDevicePrimaryCtxReset_v2)}) {
    EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), launch), SizeIs(1));
    const long long asked = Questions();
    // Before the call is made: afterwards another kernel may have the handle already.
    Defining(call, cuModuleUnload_params{module_});
    EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), launch), SizeIs(1));
    EXPECT_GT(Questions(), asked) << call;
  }
  Defining(CALL(cuModuleUnload), cuModuleUnload_params{module_});
  SIM_OK(cuModuleUnload(module_));
  Defined(CALL(cuModuleUnload), cuModuleUnload_params{module_});
  const Submission gone = Decode(CALL(cuLaunchKernel), launch);
  EXPECT_EQ(gone.kind, Kind::kUnknown);
  EXPECT_TRUE(gone.incomplete);
  EXPECT_THAT(gone.touches, IsEmpty());
}

TEST_F(LaunchTest, ALayoutThatIsNotToldIsAskedForAgain) {
  uint64_t words = At(24), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  const auto launch = Launch(Function("fill"), parameters);
  ASSERT_EQ(simcudaFail("cuKernelGetParamInfo", 1, -1, CUDA_ERROR_UNKNOWN), 0);
  ASSERT_EQ(simcudaFail("cuFuncGetParamInfo", 1, -1, CUDA_ERROR_UNKNOWN), 0);
  EXPECT_EQ(Decode(CALL(cuLaunchKernel), launch).kind, Kind::kUnknown);
  simcudaReset();
  EXPECT_THAT(TouchesOf(CALL(cuLaunchKernel), launch), SizeIs(1));
}

TEST_F(LaunchTest, ThreadsThatLaunchWhileLayoutsGo) {
  std::vector<CUfunction> functions;
  for (const char* name : {"fill", "fill_hash", "add_constant"}) {
    functions.push_back(Function(name));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      SIM_OK(cuCtxSetCurrent(context_));
      uint64_t words = At(8 * t), count = 1, value = 2;
      void* parameters[] = {&words, &count, &value};
      for (int i = 0; i < 3000; ++i) {
        const auto touches = TouchesOf(CALL(cuLaunchKernel), Launch(functions[i % 3], parameters));
        ASSERT_THAT(touches, ElementsAre(Slot(8 * t, 0)));
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    Defining(CALL(cuModuleUnload), cuModuleUnload_params{nullptr});
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vramspan
