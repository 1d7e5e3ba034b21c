// CUDA_INJECTION64_PATH. Each test is a process of its own, since a library is injected once.

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace {

// In the injected library.
int Ask(const char* function) {
  void* const library = dlopen(SIMCUDA_TEST_INJECTED_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  return reinterpret_cast<int (*)()>(dlsym(library, function))();
}

void InitializeWith(const char* path) {
  setenv("CUDA_INJECTION64_PATH", path, 1);
  std::thread other([] { cuInit(0); });
  const CUresult result = cuInit(0);
  // Whichever of the two injected it, it is there when either returns.
  const int calls = Ask("InjectionCalls");
  other.join();
  fprintf(stderr, "cuInit %d, calls %d\n", result, calls);
  exit(cuInit(0) == CUDA_SUCCESS && Ask("InjectionCalls") == calls ? 0 : 1);
}

class InjectionTest : public ::testing::Test {
 protected:
  // A process that has not initialised the driver.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(InjectionTest, CalledOnceBeforeCuInitReturns) {
  EXPECT_EXIT(InitializeWith(SIMCUDA_TEST_INJECTED_LIBRARY), testing::ExitedWithCode(0),
              "cuInit 0, calls 1");
}

TEST_F(InjectionTest, WhatCannotBeLoadedIsSaid) {
  EXPECT_EXIT(InitializeWith("/no/such/library.so"), testing::ExitedWithCode(0),
              "CUDA_INJECTION64_PATH was not injected: /no/such/library.so.*\n.*cuInit 0");
}

TEST_F(InjectionTest, ALibraryWithoutTheFunctionIsSaid) {
  EXPECT_EXIT(InitializeWith("libm.so.6"), testing::ExitedWithCode(0),
              "was not injected: .*InitializeInjection.*\n.*cuInit 0");
}

TEST_F(InjectionTest, ItMayUseTheDriver) {
  EXPECT_EXIT(
      {
        setenv("SIMCUDA_DEVICES", "3", 1);
        setenv("CUDA_INJECTION64_PATH", SIMCUDA_TEST_INJECTED_LIBRARY, 1);
        exit(cuInit(0) == CUDA_SUCCESS ? Ask("InjectionDevices") : 100);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
