// What one process leaves to the next, and what needs no context.
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/conformance/child.h"
#include "tests/conformance/fixture.h"
#include "tests/conformance/gpu_only.h"
#include "tests/kernels/test_kernels.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;
constexpr size_t kPiece = size_t{64} << 20;
constexpr std::chrono::seconds kMustHappen{20};

unsigned ManyBlocks() { return World::Get().simulated() ? 8 : 1024; }

size_t Free() {
  size_t free = 0, total = 0;
  Must(World::Get().cu().MemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

// More than half of what is free, so that the next who takes as much must get some of it.
size_t MostPieces() { return Free() / 8 * 5 / kPiece; }

// Memory of one call, for good or until it is destroyed.
struct Plain {
  Plain() { Must(World::Get().cu().MemAlloc(&at, kPiece), "cuMemAlloc"); }
  ~Plain() { World::Get().cu().MemFree(at); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  CUdeviceptr at = 0;
};
struct Mapped {
  Mapped() : handle(Where::kDevice, kPiece), span(1, kPiece) {
    span.Map(0, handle);
    at = span.at(0);
  }
  Handle handle;
  Span span;
  CUdeviceptr at = 0;
};

// Fills what it takes, says so, and ends when it is told to.
template <typename Memory>
int Fill() {
  const World& world = World::Get();
  std::vector<std::unique_ptr<Memory>> all;
  for (size_t i = MostPieces(); i > 0; --i) {
    all.push_back(std::make_unique<Memory>());
    Must(Launch(world.Kernel("fill"), ManyBlocks(), 256, nullptr, all.back()->at,
                kPiece / sizeof(Word), Word{0x5eed}),
         "fill");
  }
  Must(world.cu().CtxSynchronize(), "cuCtxSynchronize");
  char word = static_cast<char>(all.empty() ? 'n' : 'y');
  if (send(kChildSocket, &word, 1, MSG_NOSIGNAL) != 1) return 1;
  recv(kChildSocket, &word, 1, 0);
  return 0;
}
const Role fill_plain("fill-plain", Fill<Plain>);
const Role fill_mapped("fill-mapped", Fill<Mapped>);

int CreateBare() {
  const std::shared_ptr<const Driver> driver = *Driver::Load();
  CUcontext context = nullptr;
  int node = 0;
  Must((*driver)->CtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context != nullptr) throw std::runtime_error("there is a context");
  Must((*driver)->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0),
       "cuDeviceGetAttribute");
  for (const CUmemLocation location :
       {CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, 0},
        CUmemLocation{CU_MEM_LOCATION_TYPE_HOST_NUMA, node < 0 ? 0 : node}}) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = location;
    CUmemGenericAllocationHandle handle = 0;
    Must((*driver)->MemCreate(&handle, kChunk, &prop, 0), "cuMemCreate");
    Must((*driver)->MemRelease(handle), "cuMemRelease");
  }
  return 0;
}
const Role create_bare("create-bare", CreateBare);

class Processes : public Conformance {
 protected:
  // Takes as much as the process had that is gone, by the other call, and looks at all of it.
  template <typename Memory>
  void ExpectZeros(size_t pieces) {
    const World& world = World::Get();
    Word zeros = 0;
    for (size_t i = 0; i < kPiece / sizeof(Word); ++i) zeros ^= vramspan_test::HashWord(i, 0);
    Plain sum;
    std::vector<std::unique_ptr<Memory>> all;
    while (all.size() < pieces) {
      all.push_back(std::make_unique<Memory>());
      Must(world.cu().MemsetD8Async(sum.at, 0, sizeof(Word), nullptr), "cuMemsetD8Async");
      Must(Launch(world.Kernel("checksum"), ManyBlocks(), 256, nullptr, all.back()->at,
                  kPiece / sizeof(Word), sum.at),
           "checksum");
      Word seen = 0;
      Must(world.MemcpyDtoH(&seen, sum.at, sizeof(seen)), "cuMemcpyDtoH");
      ASSERT_EQ(seen, zeros) << "piece " << all.size() << " of " << pieces;
    }
  }
  static void AwaitFilled(Child& child) {
    char word = 0;
    ASSERT_EQ(recv(child.socket(), &word, 1, 0), 1) << (child.Wait(), child.output());
    ASSERT_EQ(word, 'y') << "nothing is free";
  }
  static bool Comes(size_t free) {
    const auto end = std::chrono::steady_clock::now() + kMustHappen;
    while (Free() < free) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
};

TEST_F(Processes, MemoryIsCreatedWithoutAContext) {
  Child child("create-bare");
  const int code = child.Wait();
  EXPECT_EQ(code, 0) << child.output();
}

TEST_F(Processes, WhatOneHadIsZerosToTheNext) {
  const size_t before = Free();
  const size_t pieces = MostPieces();
  {
    Child child("fill-plain");
    AwaitFilled(child);
    EXPECT_EQ(shutdown(child.socket(), SHUT_RDWR), 0);
    const int code = child.Wait();
    EXPECT_EQ(code, 0) << child.output();
  }
  EXPECT_TRUE(Comes(before - kPiece));
  ExpectZeros<Mapped>(pieces);
}

TEST_F(Processes, WhatAKilledOneHadIsZerosToTheNext) {
  const size_t before = Free();
  const size_t pieces = MostPieces();
  {
    Child child("fill-mapped");
    AwaitFilled(child);
  }  // Killed.
  EXPECT_TRUE(Comes(before - kPiece));
  ExpectZeros<Plain>(pieces);
}

// Where others have the same device.
class KilledProcess : public Processes {
 public:
  void TestBody() override {
    const size_t before = Free();
    const size_t held = MostPieces() * kPiece;
    {
      Child child("fill-mapped");
      AwaitFilled(child);
      // What its context takes is no piece more or less.
      EXPECT_LE(Free(), before - (held - kPiece)) << "this process does not see what it took";
    }
    const auto killed = std::chrono::steady_clock::now();
    EXPECT_TRUE(Comes(before - kPiece));
    printf("a killed process's %zu MiB were back after %lld ms\n", held >> 20,
           static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                      std::chrono::steady_clock::now() - killed)
                                      .count()));
  }
};

}  // namespace

void RegisterSharedDeviceTests() {
  const char* const shared = std::getenv("SIMCUDA_SHARED_DEVICES");
  if (World::Get().simulated() && (shared == nullptr || *shared == '\0')) return;
  ::testing::RegisterTest("Processes", "WhatAKilledOneHadIsFreeAgain", nullptr, nullptr, __FILE__,
                          __LINE__, []() -> Processes* { return new KilledProcess(); });
}

}  // namespace vramspan::conformance
