// Memory of traced programs as it is freed, comes back and is declared, and what is counted.
#include <chrono>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class TracedMemory : public TracedTest {
 protected:
  // The sum of what the first held work waited for.
  uint64_t Stalled() const {
    const vramspanStatistics s = runtime_->stats();
    return s.stall_drain_ns + s.stall_copy_ns + s.stall_vmm_ns;
  }
  void Free(size_t i) {
    EXPECT_SPAN(vramspanMemFree(runtime_->get(), buffers_[i].ptr));
    buffers_[i].ptr = 0;
  }
  // A buffer of this size at this address; other memory of its size is kept until it is found.
  Buffer* AllocateAt(CUdeviceptr address, size_t bytes) {
    std::vector<CUdeviceptr> others;
    Buffer* found = nullptr;
    for (int tries = 0; found == nullptr && tries < 16; ++tries) {
      Buffer b = runtime_->Alloc(bytes);
      if (b.ptr != address) {
        others.push_back(b.ptr);
        continue;
      }
      found = &buffers_.emplace_back(b);
      found->seed = buffers_.size();
      EXPECT_CU(world_.LaunchFill(*found, stream_));
    }
    for (const CUdeviceptr p : others) EXPECT_SPAN(vramspanMemFree(runtime_->get(), p));
    return found;
  }
};
INSTANTIATE_TRACED(TracedMemory);

TEST_P(TracedMemory, FreedWhileLaunchesAreQueued) {
  ASSERT_NO_FATAL_FAILURE(Start());
  // The first launch of a kernel waits for all work there is.
  EXPECT_CU(DRIVER(cuFuncLoad)(world_.Kernel("add_constant")));
  const CUstream parked = NewStream();
  HostFlag flag(world_);
  for (unsigned turn = 1; turn <= 5; ++turn) {
    EXPECT_CU(flag.ParkIn(parked, turn));
    const size_t gone = buffers_.size();
    NewBuffer();
    Wait(stream_);
    const CUdeviceptr address = buffers_[gone].ptr;
    for (const size_t i : {gone, size_t{1}, size_t{2}}) Add(i, 1, parked);
    // Behind those, and held: their memory is not to be had yet.
    for (const size_t i : {gone, size_t{3}, size_t{4}}) Add(i, 1, parked);
    Free(gone);
    // What takes its place is not what the queued launches write to.
    for (int k = 0; k < 3; ++k) {
      const Buffer& b = NewBuffer();
      EXPECT_NE(b.ptr, address);
    }
    flag.Set(turn);
    runtime_->Synchronize();
    for (size_t i = buffers_.size() - 3; i < buffers_.size(); ++i) {
      EXPECT_EQ(world_.Wrong(buffers_[i]), "");
      Free(i);
    }
  }
  EXPECT_EQ(runtime_->stats().allocations, 2 * kBudget);
}

// What was known of an allocation is forgotten with it: boundaries between arrays in it, and
// pointers that lay in it.
TEST_P(TracedMemory, NewMemoryAtAnOldAddress) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const size_t old = buffers_.size();
  CUdeviceptr address = NewBuffer(2 * kChunk).ptr;
  // A pointer into its middle, and from then on its start means its first half only.
  Buffer half = {address + kChunk, kChunkWords, 1, 0};
  EXPECT_CU(world_.LaunchAdd(half, 0, stream_));
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({old}));
  Buffer first = {address, kChunkWords, 1, 0};
  EXPECT_CU(world_.LaunchAdd(first, 0, stream_));
  runtime_->Synchronize();
  EXPECT_EQ(DeviceBytes(old), kChunk);
  EXPECT_CU(DRIVER(cuMemcpyHtoD)(address, &buffers_[0].ptr, sizeof(CUdeviceptr)));
  Wait(nullptr);
  runtime_->Synchronize();
  Free(old);

  ASSERT_NE(AllocateAt(address, 2 * kChunk), nullptr);
  const size_t made = buffers_.size() - 1;
  const uint64_t touches = runtime_->stats().touches;
  ExpectFetched({made}, [&] { Add(made, 1, stream_); });
  EXPECT_EQ(runtime_->stats().touches, touches + 1);
}

// When what pressed is freed, what is hot and on the host comes back by itself.
TEST_P(TracedMemory, ComesBackWhenThereIsRoom) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 2 * kBudget; ++i) Add(i, 1, stream_);
  }
  runtime_->Synchronize();
  const vramspanStatistics before = runtime_->stats();
  // What the last launch had evicted to make room comes back by itself.
  Indices there, left;
  ASSERT_TRUE(Eventually([&] {
    there.clear(), left.clear();
    for (size_t i = 0; i < 2 * kBudget; ++i) (OnDevice(i) ? there : left).push_back(i);
    return left.size() == kBudget &&
           runtime_->stats().device_used == runtime_->stats().device_budget;
  }));
  for (const size_t i : there) Free(i);
  EXPECT_TRUE(Eventually([&] {
    for (const size_t i : left) {
      if (!OnDevice(i)) return false;
    }
    return true;
  }));
  const vramspanStatistics after = runtime_->stats();
  // Where it is known what comes next, that is why.
  EXPECT_GE(after.fetches, before.fetches + kBudget);
  EXPECT_EQ(after.works, before.works);
}

// Small objects are packed into chunks of their own, which move as others do: those that were
// allocated while the device was full do not stay on the host.
TEST_P(TracedMemory, SmallObjectsComeWhenTheyAreUsed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const size_t large = buffers_.size(), small = large + 1;
  NewBuffer(kChunk);  // The device is full by now.
  NewBuffer(64 << 10);
  ASSERT_EQ(DeviceBytes(small), 0u);
  for (int round = 0; round < 8 && !OnDevice(small); ++round) {
    Add(small, 1, stream_);
    runtime_->Synchronize();
  }
  EXPECT_TRUE(OnDevice(small));
  // And leave for others, with what was written since.
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i <= large; ++i) Add(i, 1, stream_);
    Add(small, 1, stream_);
  }
  runtime_->Synchronize();
  EXPECT_EQ(world_.Wrong(buffers_[small]), "");
}

TEST_P(TracedMemory, DeclaredScopesDecide) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0, 1}));
  const vramspanStatistics before = runtime_->stats();
  constexpr uint32_t kUse = VRAMSPAN_READ | VRAMSPAN_WRITE | VRAMSPAN_KERNELS_ONLY;
  runtime_->Begin(stream_, {buffers_[0].range(kUse | VRAMSPAN_ONCE), buffers_[1].range(kUse)});
  Add(0, 1, stream_);
  Add(1, 1, stream_);
  runtime_->End(stream_);
  runtime_->Synchronize();
  const vramspanStatistics after = runtime_->stats();
  EXPECT_EQ(DeviceBytes(0), 0u);
  EXPECT_TRUE(OnDevice(1));
  EXPECT_EQ(after.works, before.works + 1);
  EXPECT_EQ(after.launches, before.launches);
  EXPECT_EQ(after.touches, before.touches);
  EXPECT_EQ(after.fetches, before.fetches + 1);
  // Behind the scope everything is seen again.
  ExpectFetched({0}, [&] { Add(0, 1, stream_); });
}

TEST_P(TracedMemory, CountsOfLaunchesAndCopies) {
  ASSERT_NO_FATAL_FAILURE(Start());
  runtime_->Synchronize();
  const vramspanStatistics before = runtime_->stats();
  for (size_t i = 0; i < 2 * kBudget; ++i) Add(i, 1, stream_);
  char tag = 'p';
  PointerPair pair{'p', {1, Words(1)}, Words(5)};
  size_t count = kChunkWords;
  Word value = 2;
  EXPECT_CU(world_.Launch(Traced("add_to_pair"), stream_, Parameters(tag, pair, count, value)));
  Added({1, 5}, 2);
  Word word = 0;
  for (int k = 0; k < 5; ++k) {
    EXPECT_CU(world_.api().MemcpyDtoHAsync(&word, buffers_[0].ptr, sizeof(word), stream_));
  }
  EXPECT_CU(world_.api().MemcpyDtoDAsync(buffers_[2].ptr, buffers_[3].ptr, kChunk, stream_));
  buffers_[2] = {buffers_[2].ptr, kChunkWords, buffers_[3].seed, buffers_[3].add};
  runtime_->Synchronize();
  const vramspanStatistics after = runtime_->stats();
  EXPECT_EQ(after.launches, before.launches + 2 * kBudget + 1);
  EXPECT_EQ(after.copies, before.copies + 6);
  EXPECT_EQ(after.works, before.works + 2 * kBudget + 1 + 6);
  EXPECT_EQ(after.touches, before.touches + 2 * kBudget + 2 + 5 + 2);
  EXPECT_GE(after.bytes_scanned, before.bytes_scanned + (2 * kBudget + 2) * sizeof(CUdeviceptr));
  EXPECT_EQ(after.launches_unknown, before.launches_unknown);
  EXPECT_GE(after.fetches, before.fetches + kBudget);
  EXPECT_GE(after.evictions, before.evictions + kBudget);
  EXPECT_EQ(after.deadlines, 0u);
  std::vector<Word> words(kChunkWords);
  EXPECT_CU(world_.api().MemcpyDtoHAsync(words.data(), buffers_[2].ptr, kChunk, stream_));
  Wait(stream_);
  const uint64_t scanned = runtime_->stats().bytes_scanned;
  EXPECT_CU(world_.api().MemcpyHtoDAsync(buffers_[2].ptr, words.data(), 24, stream_));
  EXPECT_EQ(runtime_->stats().bytes_scanned, scanned + 24);
  EXPECT_CU(world_.api().MemcpyHtoDAsync(buffers_[2].ptr, words.data(), kChunk, stream_));
  EXPECT_EQ(runtime_->stats().bytes_scanned, scanned + 24) << "too large to be of pointers";
  Wait(stream_);
  runtime_->Synchronize();
}

// Another launch names a pointer into the chunk, so the first array ends there.
TEST_P(TracedMemory, BytesServedInPlaceAreThoseThatAreNamed) {
  constexpr size_t kFirst = size_t{64} << 10;
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0}));
  EXPECT_SPAN(
      vramspanMemAdvise(runtime_->get(), buffers_[0].ptr, kChunk, VRAMSPAN_ADVISE_PREFER_HOST));
  Buffer first = buffers_[0], second = buffers_[0];
  first.words = second.words = 16;
  second.ptr += kFirst;
  EXPECT_CU(world_.LaunchAdd(second, 0, stream_, 1));
  runtime_->Synchronize();
  const vramspanStatistics before = runtime_->stats();
  for (int k = 0; k < 3; ++k) EXPECT_CU(world_.LaunchAdd(first, 0, stream_, 1));
  runtime_->Synchronize();
  EXPECT_EQ(runtime_->stats().bytes_in_place, before.bytes_in_place + 3 * kFirst);
}

TEST_P(TracedMemory, BytesServedInPlace) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0, 1}));
  for (const size_t i : {0, 1}) {
    EXPECT_SPAN(
        vramspanMemAdvise(runtime_->get(), buffers_[i].ptr, kChunk, VRAMSPAN_ADVISE_PREFER_HOST));
  }
  const vramspanStatistics before = runtime_->stats();
  for (int k = 0; k < 5; ++k) {
    for (const size_t i : {0, 1}) Add(i, 1, stream_);
  }
  runtime_->Synchronize();
  const vramspanStatistics after = runtime_->stats();
  EXPECT_EQ(after.bytes_in_place, before.bytes_in_place + 10 * kChunk);
  EXPECT_EQ(after.works_in_place, before.works_in_place + 10);
  EXPECT_EQ(after.fetches, before.fetches);
}

TEST_P(TracedMemory, StallsByTheirCause) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0}));
  const vramspanStatistics before = runtime_->stats();
  // A remap, of which a single call takes this long.
  constexpr uint64_t kRemap = 3'000'000;
  world_.set_delay("cuMemMap", kRemap / 1000);
  Add(0, 1, stream_);
  runtime_->Synchronize();
  world_.set_delay("cuMemMap", 0);
  vramspanStatistics after = runtime_->stats();
  EXPECT_GE(after.vmm_ns, before.vmm_ns + 2 * kRemap);
  EXPECT_GE(after.stall_vmm_ns, before.stall_vmm_ns + kRemap);
  EXPECT_LE(after.stall_vmm_ns, after.vmm_ns);
  // It counts where the thread was: a chunk may be mapped before its copy, or for who may touch it.
  const auto calls = [](const vramspanStatistics& s) {
    return s.mover_remap_ns + s.mover_begin_ns + s.mover_map_ns;
  };
  // The last call counts at the thread's next look.
  EXPECT_TRUE(Eventually([&] { return calls(runtime_->stats()) >= calls(before) + 2 * kRemap; }));
  EXPECT_GT(after.mover_decide_ns, before.mover_decide_ns);
  // Work in flight uses all that is on the device, so there is nothing to be done but wait for it.
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({0}));
  const CUstream parked = NewStream();
  HostFlag flag(world_);
  EXPECT_CU(flag.ParkIn(parked, 1));
  for (size_t i = 1; i < 2 * kBudget; ++i) {
    if (OnDevice(i)) Add(i, 1, parked);
  }
  const uint64_t drain = runtime_->stats().stall_drain_ns;
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t stalled = Stalled(), held_ns = runtime_->stats().hold_ns;
  Add(0, 1, stream_);
  constexpr uint64_t kLong = 30'000'000;
  EXPECT_TRUE(Eventually([&] { return runtime_->stats().stall_drain_ns >= drain + kLong; }));
  flag.Set(1);
  runtime_->Synchronize();
  const auto took = static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  after = runtime_->stats();
  EXPECT_LE(Stalled() - stalled, took);
  EXPECT_GE(after.hold_ns - held_ns, kLong);
  EXPECT_TRUE(OnDevice(0));
  EXPECT_EQ(after.deadlines, 0u);
}

}  // namespace
}  // namespace vramspan_test
