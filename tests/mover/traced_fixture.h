// What tests of traced programs share: a program that declares nothing, on the simulated driver,
// with twice as many buffers of one chunk each as there is room for on the device.
#ifndef VRAMSPAN_TESTS_MOVER_TRACED_FIXTURE_H_
#define VRAMSPAN_TESTS_MOVER_TRACED_FIXTURE_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/mover/traced_test_kernels.h"
#include "tests/mover/world.h"
#include "tests/trace/sample.h"

#define VRAMSPAN_TRACED_TEXT_(name) #name
#define VRAMSPAN_TRACED_TEXT(name) VRAMSPAN_TRACED_TEXT_(name)
// A function of the driver, of the version that cuda.h gives its name.
#define DRIVER(name) world_.Symbol<decltype(&name)>(VRAMSPAN_TRACED_TEXT(name))

namespace vramspan_test {

inline constexpr size_t kBudget = 4;  // Chunks; every buffer has one.
inline constexpr size_t kChunkWords = kChunk / sizeof(Word);

// Waits until it holds; false when it does not within 20 s.
bool Eventually(const std::function<bool()>& holds);

// The addresses of parameters, in order. They must live as long as it is used.
template <typename... Args>
std::vector<void*> Parameters(Args&... args) {
  return {static_cast<void*>(&args)...};
}

// The parameter is what overlaps: off, safe, all; or auto, with a file that finds all names
// plausible. What auto does beside proven code is what all does.
class TracedTest : public MoverTest, public testing::WithParamInterface<const char*> {
 protected:
  using Indices = std::vector<size_t>;

  TracedTest();
  // Waits for all work and compares all buffers.
  ~TracedTest() override;

  // A runtime with kBudget chunks on the device, and filled buffers.
  void Start(size_t buffers = 2 * kBudget);
  // The same with a runtime of the caller's.
  void Start(const RuntimeOptions& options, size_t buffers);
  Buffer& NewBuffer(size_t bytes = kChunk);

  // Kernels of the module that is loaded beside the world's.
  CUfunction Traced(const char* name) const;
  CUmodule module() const { return module_; }
  CUstream NewStream() { return streams_.emplace_back(world_.NewStream()); }
  void Wait(CUstream stream) const { EXPECT_CU(world_.api().StreamSynchronize(stream)); }

  void Add(size_t i, Word value, CUstream stream);
  // The buffers were added to, in whatever way.
  void Added(const Indices& which, Word value) {
    for (const size_t i : which) buffers_[i].add += value;
  }
  // `to` was made what `from` is, in whatever way.
  void Copied(size_t to, size_t from) {
    buffers_[to].seed = buffers_[from].seed;
    buffers_[to].add = buffers_[from].add;
  }
  Word* Words(size_t i) const { return reinterpret_cast<Word*>(buffers_[i].ptr); }
  uint64_t DeviceBytes(size_t i) const { return runtime_->OnDevice(buffers_[i]); }
  bool OnDevice(size_t i) const { return DeviceBytes(i) == buffers_[i].bytes(); }

  // Puts these buffers into host memory, and as many of the others on the device as fit.
  void PlaceOnHost(const Indices& which);
  // Calls `launch` with these buffers in host memory. It must be one launch that the tracer sees,
  // which finds all of them on the device. Kernels are unknown for their first three launches;
  // later the runtime may try what it costs to leave memory on the host.
  void ExpectFetched(const Indices& which, const std::function<void()>& launch);
  // Calls `copies` with these buffers in host memory, where all of them stay: `count` copies or
  // fills, seen and served in place.
  void ExpectServed(const Indices& which, uint64_t count, const std::function<void()>& copies);

  // Launches into a stream that is parked, with these buffers on the device, and wants them gone:
  // they stay until the launch has run.
  void ExpectStay(const Indices& which, const std::function<void(CUstream)>& launch);

  // Runs until the end of its life: adds to these buffers, which moves memory all the time.
  class Pressure {
   public:
    Pressure(TracedTest* test, Indices which);
    ~Pressure();
    Pressure(const Pressure&) = delete;
    Pressure& operator=(const Pressure&) = delete;

   private:
    void Run();

    TracedTest& test_;
    const Indices which_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
  };

  CUstream stream_ = nullptr;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;

 private:
  // What a runtime is given for the parameter.
  const char* Overlap();

  vramspan::trace::TestFolder trust_;  // Its own: another test may write the same beside it.
  std::vector<CUstream> streams_;
  CUmodule module_ = nullptr;
  Watchdog watchdog_;
};

#define INSTANTIATE_TRACED(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Overlap, Suite, testing::Values("off", "safe", "all", "plausible"), \
                           [](const auto& each) { return std::string(each.param); })

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_TRACED_FIXTURE_H_
