// Who may touch the memory beside its own device: everywhere it is mapped, however it got there.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime/api/runtime.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using vramspan::Access;
using vramspan::Bytes;
using vramspan::Chunk;
using vramspan::ChunkIndex;
using vramspan::DetachedMemory;
using vramspan::DevicePtr;
using vramspan::Memory;
using vramspan::MiB;
using vramspan::Runtime;
using vramspan::Status;
using vramspan::StatusOr;
using vramspan::WorkRange;

constexpr int kPeer = 1;
constexpr Bytes kPeerPiece = MiB(6);  // Three chunks.

// The driver reads its settings at the first call.
const bool two_devices = setenv("SIMCUDA_DEVICES", "2", 0) == 0;

class PeersTest : public MoverTest {
 protected:
  void SetUp() override { Start(0); }
  void Start(uint32_t flags) {
    runtime_.reset();
    RuntimeOptions options;
    options.device_memory = "16MiB";
    options.flags = flags;
    const vramspanConfig config = Config(options);
    StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(&config);
    ASSERT_TRUE(made.ok()) << made.status();
    runtime_ = *std::move(made);
    if (stream_ == nullptr) stream_ = world_.NewStream();
    get_access_ = world_.Symbol<decltype(&cuMemGetAccess)>("cuMemGetAccess");
  }
  void TearDown() override {
    EXPECT_CU(world_.api().StreamDestroy(stream_));
    runtime_.reset();
  }
  Memory& memory() { return runtime_->memory(); }
  DevicePtr Alloc() {
    const StatusOr<DevicePtr> p = runtime_->Allocate(kPeerPiece);
    EXPECT_TRUE(p.ok()) << p.status();
    return p.value_or(DevicePtr());
  }
  std::vector<DevicePtr> Allocs(size_t count) {
    std::vector<DevicePtr> all;
    while (all.size() < count) all.push_back(Alloc());
    return all;
  }
  // Uses memory as declared work: what is not on the device comes, and other memory goes.
  void Use(DevicePtr p) {
    Buffer b;
    b.ptr = p.value;
    b.words = kPeerPiece.value / sizeof(Word);
    const WorkRange range{p, kPeerPiece, {.write = true, .kernels_only = true}};
    ASSERT_TRUE(runtime_->BeginWork(stream_, {&range, 1}, Access::kExact).ok());
    EXPECT_CU(world_.LaunchFill(b, stream_));
    ASSERT_TRUE(runtime_->EndWork(stream_).ok());
  }
  void Wait() { ASSERT_TRUE(runtime_->mover().Synchronize().ok()); }

  // Chunks of the pieces that the device may touch, of those that are on the device or not.
  struct Seen {
    size_t on_device = 0, on_host = 0, reached = 0;
    size_t all() const { return on_device + on_host; }
  };
  Seen Look(const std::vector<DevicePtr>& pieces, int device = kPeer) {
    Seen seen;
    vramspan::MutexLock lock(memory().mu);
    for (const DevicePtr p : pieces) {
      memory().ForEachChunk(p, kPeerPiece, [&](ChunkIndex, Chunk& c) {
        const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, device};
        unsigned long long flags = 0;
        EXPECT_CU(get_access_(&flags, &location, c.base.value));
        ++(c.on_device ? seen.on_device : seen.on_host);
        seen.reached += flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? 1 : 0;
      });
    }
    return seen;
  }
  void ExpectAll(const std::vector<DevicePtr>& pieces) {
    const Seen seen = Look(pieces);
    EXPECT_EQ(seen.reached, seen.all());
    EXPECT_EQ(Look(pieces, 0).reached, seen.all()) << "its own";
  }
  void ExpectNone(const std::vector<DevicePtr>& pieces) { EXPECT_EQ(Look(pieces).reached, 0); }

  const Watchdog watchdog_{"a test of peers", 60};
  std::unique_ptr<Runtime> runtime_;
  CUstream stream_ = nullptr;
  decltype(&cuMemGetAccess) get_access_ = nullptr;
};

TEST_F(PeersTest, ReachWhatIsThereAndWhatComes) {
  ASSERT_TRUE(two_devices);
  std::vector<DevicePtr> pieces = Allocs(4);
  const Seen before = Look(pieces);
  EXPECT_GT(before.on_device, 0);
  EXPECT_GT(before.on_host, 0);
  EXPECT_EQ(before.reached, 0);
  ASSERT_TRUE(memory().peers().Set(kPeer, true).ok());
  ExpectAll(pieces);
  pieces.push_back(Alloc());
  const StatusOr<DevicePtr> base = memory().vmm().Reserve(MiB(64), MiB(2));
  ASSERT_TRUE(base.ok());
  StatusOr<DetachedMemory> loose = runtime_->MakeDetached(kPeerPiece);
  ASSERT_TRUE(loose.ok() && memory().vmm().MapDetached(*loose, *base).ok());
  pieces.push_back(*base);
  ExpectAll(pieces);
  ASSERT_TRUE(memory().peers().Set(kPeer, false).ok());
  ExpectNone(pieces);
  pieces.push_back(Alloc());
  ExpectNone(pieces);
  EXPECT_EQ(Look(pieces, 0).reached, Look(pieces).all());
}

TEST_F(PeersTest, MustBeDevicesThatReachThisOne) {
  const std::vector<DevicePtr> pieces = Allocs(4);
  for (const CUdevice wrong : {0, 2, -1}) {
    const Status refused = runtime_->SetPeerAccess(wrong, true);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  }
  ExpectNone(pieces);
  ASSERT_TRUE(runtime_->SetPeerAccess(kPeer, true).ok());
  ExpectAll(pieces);
  ASSERT_TRUE(runtime_->SetPeerAccess(kPeer, false).ok());
  ExpectNone(pieces);
  EXPECT_TRUE(runtime_->SetPeerAccess(kPeer, false).ok()) << "it has none";
}

TEST_F(PeersTest, ReachWhatMoves) {
  const std::vector<DevicePtr> pieces = Allocs(6);
  for (const DevicePtr p : pieces) Use(p);
  Wait();
  ASSERT_TRUE(memory().peers().Set(kPeer, true).ok());
  const uint64_t fetched = runtime_->Statistics().fetches;
  for (int round = 0; round < 3; ++round) {
    for (const DevicePtr p : pieces) Use(p);
  }
  Wait();
  EXPECT_GT(runtime_->Statistics().fetches, fetched);
  ExpectAll(pieces);
  ASSERT_TRUE(memory().peers().Set(kPeer, false).ok());
  for (const DevicePtr p : pieces) Use(p);
  Wait();
  ExpectNone(pieces);
}

TEST_F(PeersTest, ReachFreedMemoryThatIsHandedOutAgain) {
  for (const bool add : {true, false}) {
    DevicePtr p = Alloc();
    ASSERT_TRUE(runtime_->Free(p).ok());
    ASSERT_TRUE(memory().freed().DrainAndReclaim().ok());
    ASSERT_TRUE(memory().peers().Set(kPeer, add).ok());
    const long long maps = world_.call_count("cuMemMap");
    p = Alloc();
    EXPECT_EQ(world_.call_count("cuMemMap"), maps) << "it was kept";
    EXPECT_EQ(Look({p}).reached, add ? 3 : 0);
    ASSERT_TRUE(runtime_->Free(p).ok());
  }
}

TEST_F(PeersTest, HaveNoAccessWhereTheDriverRefuses) {
  Start(VRAMSPAN_CONFIG_NO_HOST);  // Nothing else calls the driver.
  std::vector<DevicePtr> pieces = Allocs(1);
  world_.fail("cuMemSetAccess", 3, 1, CUDA_ERROR_OUT_OF_MEMORY);
  const vramspan::Status status = memory().peers().Set(kPeer, true);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectNone(pieces);
  pieces.push_back(Alloc());
  ExpectNone(pieces);
  ASSERT_TRUE(memory().peers().Set(kPeer, true).ok()) << "another time it may work";
  ExpectAll(pieces);
}

TEST_F(PeersTest, ComeWhileFreedMemoryIsHandedOutAgain) {
  Start(VRAMSPAN_CONFIG_NO_HOST);
  std::vector<DevicePtr> pieces = Allocs(2);
  world_.set_delay("cuMemSetAccess", 100);
  for (int round = 0; round < 30; ++round) {
    ASSERT_TRUE(memory().peers().Set(kPeer, false).ok());
    std::atomic<bool> done{false};
    std::thread changing([&] {
      ASSERT_CU(world_.api().CtxSetCurrent(world_.context()));
      EXPECT_TRUE(memory().peers().Set(kPeer, true).ok());
      done.store(true);
    });
    do {
      ASSERT_TRUE(runtime_->Free(pieces.back()).ok());
      ASSERT_TRUE(memory().freed().DrainAndReclaim().ok());
      pieces.back() = Alloc();
    } while (!done.load());
    changing.join();
    ExpectAll(pieces);
  }
}

// Moves, allocations and frees go on while access changes.
TEST_F(PeersTest, ComeWhileMemoryMoves) {
  const std::vector<DevicePtr> pieces = Allocs(6);
  for (const DevicePtr p : pieces) Use(p);
  Wait();
  // Long enough for the other threads to get between the steps of a remap.
  for (const char* call : {"cuMemMap", "cuMemSetAccess"}) world_.set_delay(call, 100);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> stop{false};
    std::vector<DevicePtr> fresh;
    std::thread allocating([&] {
      ASSERT_CU(world_.api().CtxSetCurrent(world_.context()));
      while (!stop.load()) {
        fresh.push_back(Alloc());
        if (fresh.size() < 3) continue;
        EXPECT_TRUE(runtime_->Free(fresh.front()).ok());
        fresh.erase(fresh.begin());
      }
    });
    std::thread changing([&] {
      ASSERT_CU(world_.api().CtxSetCurrent(world_.context()));
      EXPECT_TRUE(memory().peers().Set(kPeer, false).ok());
      EXPECT_TRUE(memory().peers().Set(kPeer, true).ok());
      stop.store(true);
    });
    for (const DevicePtr p : pieces) Use(p);
    changing.join();
    allocating.join();
    Wait();
    ExpectAll(pieces);
    ExpectAll(fresh);
    for (const DevicePtr p : fresh) EXPECT_TRUE(runtime_->Free(p).ok());
  }
}

// An unmapped chunk whose memory is mapped before it is copied there.
TEST_F(PeersTest, ReachWhatIsOnItsWay) {
  const std::vector<DevicePtr> pieces = Allocs(6);
  const auto unmapped = [&](DevicePtr p, bool mapped) {
    const CUmemLocation own{CU_MEM_LOCATION_TYPE_DEVICE, 0};
    size_t count = 0;
    vramspan::MutexLock lock(memory().mu);
    memory().ForEachChunk(p, kPeerPiece, [&](ChunkIndex, Chunk& c) {
      unsigned long long flags = 0;
      count += c.unmapped && mapped == (get_access_(&flags, &own, c.base.value) == CUDA_SUCCESS);
    });
    return count;
  };
  // More than once on a slow machine: a program that seems idle has all mapped on the host.
  for (bool seen = false; !seen;) {
    for (const DevicePtr p : pieces) Use(p);
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
    const auto one = std::find_if(pieces.begin(), pieces.end(),
                                  [&](DevicePtr p) { return unmapped(p, /*mapped=*/false) != 0; });
    if (one == pieces.end()) continue;
    world_.set_delay("cuMemcpyDtoDAsync_v2", 20'000);
    Use(*one);
    do {
      seen = unmapped(*one, /*mapped=*/true) != 0;
    } while (!seen && world_.api().StreamQuery(stream_) == CUDA_ERROR_NOT_READY);
    if (!seen) world_.set_delay("cuMemcpyDtoDAsync_v2", 0);
  }
  EXPECT_TRUE(memory().peers().Set(kPeer, true).ok());
  world_.set_delay("cuMemcpyDtoDAsync_v2", 0);
  Wait();
  ExpectAll(pieces);
}

// A chunk that has lost its mapping is passed by, and has the access when it is mapped again.
TEST_F(PeersTest, ReachWhatLostItsMappingForAWhile) {
  Start(VRAMSPAN_CONFIG_SHARE_CONTEXT);  // Nothing is unmapped, so what leaves is mapped elsewhere.
  const std::vector<DevicePtr> pieces = Allocs(4);
  for (const DevicePtr p : pieces) Use(p);
  Wait();
  const auto lost = [&] {
    size_t count = 0;
    vramspan::MutexLock lock(memory().mu);
    for (const DevicePtr p : pieces) {
      memory().ForEachChunk(p, kPeerPiece, [&](ChunkIndex, Chunk& c) { count += c.lost ? 1 : 0; });
    }
    return count;
  };
  world_.fail("cuMemMap", 1, -1, CUDA_ERROR_OUT_OF_MEMORY);
  std::thread using_it([&] {
    ASSERT_CU(world_.api().CtxSetCurrent(world_.context()));
    for (const DevicePtr p : pieces) Use(p);
  });
  while (lost() == 0) std::this_thread::yield();
  EXPECT_TRUE(memory().peers().Set(kPeer, true).ok());
  world_.reset();
  using_it.join();
  while (lost() != 0) std::this_thread::yield();
  static_cast<void>(runtime_->mover().Synchronize());  // Tells of the failure.
  Wait();
  ExpectAll(pieces);
}

}  // namespace
}  // namespace vramspan_test
