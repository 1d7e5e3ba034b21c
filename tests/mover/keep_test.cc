// What VRAMSPAN_KEEP names is advised to stay on the device, whoever makes and frees it, and given
// up where it does not fit. That what is advised stays is placement_test's.
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/api/runtime.h"
#include "tests/mover/unmap_one.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using vramspan::Advice;
using vramspan::Bytes;
using vramspan::Chunk;
using vramspan::ChunkIndex;
using vramspan::DetachedMemory;
using vramspan::DevicePtr;
using vramspan::Memory;
using vramspan::MiB;
using vramspan::Runtime;
using vramspan::StatusOr;

class KeepTest : public MoverTest {
 protected:
  ~KeepTest() override {
    runtime_.reset();
    unsetenv("VRAMSPAN_KEEP");
  }
  static StatusOr<std::unique_ptr<Runtime>> Create(const char* keep) {
    setenv("VRAMSPAN_KEEP", keep, 1);
    RuntimeOptions options;
    options.device_memory = "24MiB";
    const vramspanConfig config = Config(options);
    return Runtime::Create(&config);
  }
  void Start(const char* keep) {
    StatusOr<std::unique_ptr<Runtime>> made = Create(keep);
    ASSERT_TRUE(made.ok()) << made.status();
    runtime_ = *std::move(made);
  }
  DevicePtr Allocate(Bytes size) {
    const StatusOr<DevicePtr> p = runtime_->Allocate(size);
    EXPECT_TRUE(p.ok()) << p.status();
    return p.value_or(DevicePtr());
  }
  void Free(DevicePtr p) { EXPECT_TRUE(runtime_->Free(p).ok()); }
  // All of it is to be kept; part of it never is.
  bool Kept(DevicePtr p, Bytes size) {
    size_t kept = 0, all = 0;
    vramspan::MutexLock lock(runtime_->memory().mu);
    runtime_->memory().ForEachChunk(p, size, [&](ChunkIndex, Chunk& c) {
      ++all;
      kept += c.advice == Advice::kKeepOnDevice;
    });
    EXPECT_TRUE(kept == 0 || kept == all) << kept << " of " << all;
    EXPECT_NE(all, 0u);
    return kept != 0;
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST_F(KeepTest, WhatIsAbsurdIsRefused) {
  const auto refused = Create("4194304:1,4194304:1");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("VRAMSPAN_KEEP: '4194304:1' keeps allocation 1 of 4194304 bytes a second"));
}

TEST_F(KeepTest, TheNthOfItsSizeUpToHalfTheBudget) {
  Start("4194304:2,6291456:1,4194304:3");
  const DevicePtr first = Allocate(MiB(4)), second = Allocate(MiB(4)), other = Allocate(MiB(6));
  EXPECT_FALSE(Kept(first, MiB(4)));
  EXPECT_TRUE(Kept(second, MiB(4)));
  EXPECT_TRUE(Kept(other, MiB(6)));
  const DevicePtr third = Allocate(MiB(4));
  EXPECT_FALSE(Kept(third, MiB(4))) << "2 of 12 MiB are left";
  Free(second);
  EXPECT_TRUE(Kept(third, MiB(4)));
  Free(first);
  const DevicePtr fourth = Allocate(MiB(4));
  EXPECT_FALSE(Kept(fourth, MiB(4))) << "where the second was";
  EXPECT_TRUE(runtime_->SetDeviceBudget(MiB(12)).ok());
  EXPECT_TRUE(Kept(other, MiB(6)));
  EXPECT_FALSE(Kept(third, MiB(4)));
  EXPECT_TRUE(runtime_->SetDeviceBudget(MiB(10)).ok());
  EXPECT_FALSE(Kept(other, MiB(6)));
  EXPECT_TRUE(Kept(third, MiB(4)));
  EXPECT_TRUE(runtime_->SetDeviceBudget(MiB(24)).ok());
  EXPECT_TRUE(Kept(other, MiB(6)));
  EXPECT_TRUE(Kept(third, MiB(4)));
}

TEST_F(KeepTest, TheProgramsOwnAdviceIsMore) {
  Start("4194304:1");
  const DevicePtr p = Allocate(MiB(4));
  EXPECT_TRUE(runtime_->Advise(p, MiB(4), VRAMSPAN_ADVISE_PREFER_HOST).ok());
  EXPECT_TRUE(runtime_->SetDeviceBudget(MiB(4)).ok());
  EXPECT_TRUE(runtime_->SetDeviceBudget(MiB(24)).ok());
  EXPECT_FALSE(Kept(p, MiB(4)));
}

// Memory that the program maps itself counts where it is mapped, each time.
TEST_F(KeepTest, WhatTheProgramMaps) {
  Start("4194304:2");
  Memory& memory = runtime_->memory();
  const StatusOr<DevicePtr> base = memory.vmm().Reserve(MiB(16), MiB(2));
  ASSERT_TRUE(base.ok()) << base.status();
  StatusOr<DetachedMemory> loose = runtime_->MakeDetached(MiB(4));
  ASSERT_TRUE(loose.ok()) << loose.status();
  ASSERT_TRUE(memory.vmm().MapDetached(*loose, *base).ok());
  EXPECT_FALSE(Kept(*base, MiB(4)));
  loose = UnmapOne(*runtime_, *base, MiB(4));
  ASSERT_TRUE(loose.ok()) << loose.status();
  ASSERT_TRUE(memory.vmm().MapDetached(*loose, *base + MiB(8)).ok());
  EXPECT_TRUE(Kept(*base + MiB(8), MiB(4)));
  loose = UnmapOne(*runtime_, *base + MiB(8), MiB(4));
  ASSERT_TRUE(loose.ok()) << loose.status();
  ASSERT_TRUE(memory.vmm().MapDetached(*loose, *base).ok());
  EXPECT_FALSE(Kept(*base, MiB(4))) << "it is the third";
  loose = UnmapOne(*runtime_, *base, MiB(4));
  ASSERT_TRUE(loose.ok()) << loose.status();
  memory.vmm().ReleaseDetached(*std::move(loose));
  EXPECT_TRUE(memory.vmm().Unreserve(*base, MiB(16)).ok());
}

}  // namespace
}  // namespace vramspan_test
