#ifndef VRAMSPAN_TESTS_OBSERVE_DECODER_FIXTURE_H_
#define VRAMSPAN_TESTS_OBSERVE_DECODER_FIXTURE_H_

// A decoder on the simulated driver with an arena that, unless a test makes it, no memory stands
// behind: what is decoded is not carried out.

#include <gmock/gmock.h>

#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/observe/call_params.h"
#include "runtime/observe/decoder.h"
#include "tests/observe/observe_kernels.h"
#include "tests/simcuda/kernel_fixture.h"

// CUPTI's number of a call. A macro may not stand between: cuda.h redefines many of the names.
#define CALL(name) CUPTI_DRIVER_TRACE_CBID_##name

namespace vramspan {

inline bool operator==(const Touch& a, const Touch& b) {
  const auto all = [](const Touch& t) {
    return std::tuple(t.ptr, t.size, t.write, t.linear, t.slot, t.via);
  };
  return all(a) == all(b);
}
inline std::ostream& operator<<(std::ostream& out, const Touch& t) {
  return out << std::hex << t.ptr.value << std::dec << "+" << t.size.value
             << (t.write ? " written" : " read") << (t.linear ? "" : " in pieces") << " slot "
             << t.slot;
}

class DecoderTest : public simcuda::KernelTest {
 protected:
  using Kind = Submission::Kind;
  using Word = simcuda::Word;

  // An address in the arena.
  uint64_t At(uint64_t offset) const { return arena_ + offset; }
  void* PointerAt(uint64_t offset) const { return reinterpret_cast<void*>(At(offset)); }

  Touch Slot(uint64_t offset, int slot) const {
    return {.ptr = DevicePtr(At(offset)), .linear = false, .slot = static_cast<uint16_t>(slot)};
  }
  Touch Reads(uint64_t offset, uint64_t size, bool linear = true) const {
    return {.ptr = DevicePtr(At(offset)), .size = Bytes(size), .write = false, .linear = linear};
  }
  Touch Writes(uint64_t offset, uint64_t size, bool linear = true) const {
    return {.ptr = DevicePtr(At(offset)), .size = Bytes(size), .linear = linear};
  }

  // Sets arena_ and arena_size_, where the driver looks at what stands behind.
  virtual void MakeArena() {}

  void SetUp() override {
    KernelTest::SetUp();
    MakeArena();
    SIM_OK(simcuda::LoadKernels(observe_kernels_images(), cuModuleLoadData, &observe_module_));
    auto driver = Driver::Load();
    ASSERT_TRUE(driver.ok()) << driver.status();
    decoder_ = std::make_unique<Decoder>(*driver);
    decoder_->AddArena(DevicePtr(arena_), Bytes(arena_size_));
  }

  CUfunction Observed(const std::string& name) {
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, observe_module_, name.c_str()), CUDA_SUCCESS) << name;
    return function;
  }

  template <typename Params>
  Submission Decode(uint32_t call, const Params& params) {
    Submission submission;
    EXPECT_EQ(Decoder::ClassOf(call), CallClass::kSubmits) << call;
    decoder_->Decode(call, &params, &submission);
    EXPECT_EQ(submission.stream, Decoder::StreamOf(call, &params));
    return submission;
  }
  template <typename Params>
  std::vector<Touch> TouchesOf(uint32_t call, const Params& params) {
    return Decode(call, params).touches;
  }

  // A launch of one block.
  static cuLaunchKernel_params Launch(CUfunction f, void** parameters, void** extra = nullptr,
                                      CUstream stream = nullptr) {
    return {f, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra};
  }

  template <typename Params>
  void Defined(uint32_t call, const Params& params, CUresult result = CUDA_SUCCESS) {
    EXPECT_EQ(Decoder::ClassOf(call), CallClass::kDefines) << call;
    decoder_->Learn(call, &params, result);
  }
  template <typename Params>
  void Defining(uint32_t call, const Params& params) {
    EXPECT_EQ(Decoder::ClassOf(call), CallClass::kDefines) << call;
    decoder_->Before(call, &params);
  }

  uint64_t arena_ = uint64_t{1} << 46;
  uint64_t arena_size_ = uint64_t{1} << 40;
  CUmodule observe_module_ = nullptr;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_OBSERVE_DECODER_FIXTURE_H_
