// Programs that share a device by claims: here each is a pool, with the file between them.
#include "runtime/backing/device_room.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <thread>
#include <vector>

#include "runtime/backing/device_pool.h"
#include "tests/backing/claims_folder.h"
#include "tests/backing/pool_fixture.h"

namespace vramspan {
namespace {

using std::chrono::seconds;

constexpr Bytes kDevice = MiB(1024);
constexpr int kChunk = 21;

class DeviceRoomTest : public PoolTest {
 protected:
  struct Program {
    std::unique_ptr<DeviceRoom> room;
    std::unique_ptr<DevicePool> pool;
    DeviceRoom::Start start;
    std::vector<uint32_t> slots;

    // Whether all of it came from the device.
    bool Grow(Bytes by) {
      for (Bytes got; got < by; got += ChunkBytes(kChunk)) {
        const auto slot = pool->Acquire(kChunk);
        EXPECT_TRUE(slot.ok() || absl::IsResourceExhausted(slot.status())) << slot.status();
        if (!slot.ok()) return false;
        slots.push_back(*slot);
      }
      return true;
    }
    void Free() {
      for (const uint32_t slot : slots) pool->Release(slot);
      slots.clear();
    }
    Bytes taken() const { return pool->used() + pool->cached(); }
  };

  DeviceRoomTest() { set_device_memory_(0, kDevice.value); }

  Program Start(std::optional<Bytes> given = std::nullopt) {
    Program p;
    p.room = std::make_unique<DeviceRoom>(
        DeviceRoomOptions{.folder = folder_.path(),
                          .device_uuid = "GPU-1",
                          .total = kDevice,
                          .free =
                              [this] {
                                ++asked_;
                                const StatusOr<Bytes> free = Free();
                                if (on_free_) on_free_();
                                return free;
                              },
                          .now = [this] { return Instant(now_.load()); },
                          .pause = [this] { LetOthersLook(); }});
    const Bytes alone = given.value_or(DefaultDeviceBudget(kDevice, Free()));
    p.start = p.room->Begin(alone, given.has_value());
    auto pool = DevicePool::Create(driver_, {.context = context_,
                                             .budget = p.start.budget,
                                             .alias_space = GiB(4),
                                             .room = p.room.get()});
    EXPECT_TRUE(pool.ok()) << pool.status();
    if (pool.ok()) p.pool = *std::move(pool);
    MutexLock lock(mutex_);
    running_.push_back(p.room.get());
    return p;
  }
  // A second passes for each, so often.
  template <typename... Programs>
  void Pass(int times, Programs&... programs) {
    for (int i = 0; i < times; ++i) {
      now_ = now_.load() + seconds(1);
      (programs.room->Tick(/*lacks=*/false), ...);
    }
  }
  // As their movers do.
  void LetOthersLook() {
    ++pauses_;
    now_ = now_.load() + each_pause_;
    {
      MutexLock lock(mutex_);
      for (DeviceRoom* const room : running_) room->Tick(/*lacks=*/false);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void End(Program* p) {
    {
      MutexLock lock(mutex_);
      std::erase(running_, p->room.get());
    }
    p->pool.reset();
    p->room.reset();
  }
  Bytes Free() const {
    const ScopedContext current(*driver_, context_);
    size_t free = 0, total = 0;
    EXPECT_EQ((*driver_)->MemGetInfo(&free, &total), CUDA_SUCCESS);
    return Bytes(free);
  }
  void ExpectSum(const Program& a, const Program& b) {
    EXPECT_LE(a.pool->budget() + b.pool->budget(), Free() + a.taken() + b.taken());
  }

  static long Sleeps() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  }

  struct Folder : ClaimsFolderTest {
    void TestBody() override {}
    const std::string& path() const { return folder(); }
  } folder_;
  std::atomic<Duration> now_{Duration(0)};
  std::atomic<int> asked_{0}, pauses_{0};
  Duration each_pause_{0};
  std::function<void()> on_free_;  // While the driver says what is free.
  Mutex mutex_;
  std::vector<DeviceRoom*> running_;
};

TEST_F(DeviceRoomTest, TwoThatStartTogetherSumToAtMostWhatIsFree) {
  for (int round = 0; round < 20; ++round) {
    Program a, b;
    std::barrier together(2);
    const auto start = [&](Program* p) {
      together.arrive_and_wait();
      *p = Start();
    };
    std::thread other(start, &a);
    start(&b);
    other.join();
    EXPECT_LE(a.pool->budget() + b.pool->budget(), Free());
    EXPECT_GE(std::min(a.start.expected, b.start.expected), MiB(400)) << "things are sized by that";
    ExpectSum(a, b);
    Pass(3, a, b);
    EXPECT_GE(a.pool->budget(), MiB(400));
    EXPECT_GE(b.pool->budget(), MiB(400));
    ExpectSum(a, b);
    EXPECT_TRUE(a.Grow(MiB(400)));
    EXPECT_TRUE(b.Grow(MiB(400)));
    ExpectSum(a, b);
    End(&a);
    End(&b);
  }
}

TEST_F(DeviceRoomTest, AShortLivedNeighbourTakesNothingForGood) {
  Program a = Start();
  const Bytes alone = a.pool->budget();
  EXPECT_TRUE(a.Grow(MiB(100)));
  Program b = Start();
  EXPECT_LT(a.pool->budget(), alone);
  EXPECT_TRUE(b.Grow(MiB(450)));
  End(&b);
  // Managed memory that the driver may move has what it left.
  set_device_memory_(0, kDevice.value - MiB(700).value);
  Pass(1, a);
  EXPECT_EQ(a.pool->budget(), alone);
  EXPECT_EQ(a.room->ceiling(), alone);
  set_device_memory_(0, kDevice.value);
}

TEST_F(DeviceRoomTest, ANewcomerLearnsWhatItWouldHaveAloneWhenOthersSayWhatTheyTook) {
  Program first = Start();
  EXPECT_TRUE(first.Grow(MiB(600)));
  // It has no time to say so before it ends soon.
  running_.clear();
  Program late = Start();
  EXPECT_LT(late.room->ceiling(), MiB(500));
  Pass(2, first, late);
  End(&first);
  Pass(1, late);
  EXPECT_GE(late.pool->budget(), MiB(850));
}

TEST_F(DeviceRoomTest, WithinReachIsWhatANeighbourDoesNotUse) {
  Program idle = Start();
  EXPECT_EQ(idle.pool->reach(), idle.pool->budget());
  EXPECT_TRUE(idle.Grow(MiB(20)));
  Program works = Start();
  EXPECT_GE(works.pool->reach(), MiB(800)) << "from the first on";
  Pass(3, idle, works);
  EXPECT_LT(works.pool->budget(), MiB(520));
  EXPECT_GE(works.pool->reach(), MiB(800));
  works.room->Lacks(/*refused=*/false);
  EXPECT_EQ(works.pool->reach(), works.pool->budget());
  Pass(1, works);
  EXPECT_EQ(works.pool->reach(), works.pool->budget());
  Pass(7, works, idle);
  EXPECT_GE(works.pool->reach(), MiB(800)) << "it has asked long ago";
  works.room->Give(MiB(100));
  EXPECT_EQ(works.pool->reach(), MiB(100));
}

TEST_F(DeviceRoomTest, WhoIsStoppedKeepsWhatItHasTakenAlone) {
  Program stopped = Start();
  const Bytes alone = stopped.pool->budget();
  EXPECT_TRUE(stopped.Grow(MiB(100)));
  Program works = Start();
  Pass(3, stopped, works);
  EXPECT_LT(works.pool->budget(), MiB(520));
  Pass(8, works);
  EXPECT_LT(works.pool->budget(), MiB(520));
  Pass(8, works);
  EXPECT_GE(works.pool->budget(), MiB(800));
  EXPECT_LE(works.pool->budget(), Free()) << "nor more";
  EXPECT_TRUE(works.Grow(MiB(800)));
  // It goes on: what it used is its own, and no more is there for it.
  Pass(1, stopped);
  EXPECT_LT(stopped.pool->budget(), MiB(220));
  ExpectSum(stopped, works);
  End(&works);
  Pass(1, stopped);
  EXPECT_EQ(stopped.pool->budget(), alone);
}

TEST_F(DeviceRoomTest, WhoLacksMemoryGetsItWithoutAWaitWhereItIsThere) {
  Program idle = Start();
  EXPECT_TRUE(idle.Grow(MiB(500)));
  idle.Free();
  Program works = Start();
  EXPECT_FALSE(works.Grow(MiB(800))) << "the first is alone, as far as it knows";
  Pass(2, idle, works);
  EXPECT_FALSE(works.Grow(MiB(800) - works.pool->used())) << "it was in use until now";
  EXPECT_GE(idle.pool->budget(), MiB(500));
  Pass(40, idle, works);
  EXPECT_FALSE(works.Grow(MiB(800) - works.pool->used())) << "nobody has asked lately";
  // What is cached is not used.
  Pass(2, idle, works);
  EXPECT_TRUE(works.Grow(MiB(800) - works.pool->used()));
  ExpectSum(idle, works);
  EXPECT_FALSE(idle.Grow(MiB(300))) << "nothing is evicted for it";
  ExpectSum(idle, works);
  works.Free();
  Pass(7, works, idle);
  EXPECT_FALSE(idle.Grow(MiB(300)));
  Pass(40, works, idle);
  EXPECT_TRUE(idle.Grow(MiB(300)));
  ExpectSum(idle, works);
}

TEST_F(DeviceRoomTest, WhoAsksForWhatOthersDoNotUseHasItBeforeItGoesOn) {
  Program idle = Start();
  EXPECT_TRUE(idle.Grow(MiB(20)));
  Program works = Start();
  Pass(3, idle, works);
  pauses_ = 0;
  works.room->Await(MiB(400));
  EXPECT_EQ(pauses_, 0) << "that is there";
  works.room->Await(MiB(800));
  EXPECT_GT(pauses_, 0);
  EXPECT_GE(works.pool->reach(), works.pool->budget());
  EXPECT_TRUE(works.Grow(MiB(800)));
  ExpectSum(idle, works);
  // There is no more, and nobody waits for it.
  pauses_ = 0;
  works.room->Await(MiB(800));
  EXPECT_EQ(pauses_, 0);
  EXPECT_FALSE(works.Grow(MiB(200)));
}

TEST_F(DeviceRoomTest, WhatIsUsedBetweenTwoLooksIsKept) {
  Program turns = Start();
  Program works = Start();
  for (int i = 0; i < 20; ++i) {
    if (i % 4 == 0) {
      EXPECT_TRUE(turns.Grow(MiB(400)));
      turns.Free();
    }
    Pass(1, turns, works);
    works.Grow(MiB(800) - works.pool->used());
    EXPECT_GE(turns.pool->budget(), MiB(400));
  }
}

TEST_F(DeviceRoomTest, NobodyWaitsForLongForWhoGivesNothing) {
  Program idle = Start();
  Program works = Start();
  Pass(3, idle, works);
  {
    MutexLock lock(mutex_);
    running_.clear();  // As where they are stopped.
  }
  pauses_ = 0;
  works.room->Await(MiB(800));
  EXPECT_EQ(pauses_, 49) << "two periods";
  works.room->Await(MiB(800));
  EXPECT_EQ(pauses_, 49) << "not again soon";
  now_ = now_.load() + seconds(5);
  works.room->Await(MiB(800));
  EXPECT_EQ(pauses_, 2 * 49);
  // Who has a clock goes by that.
  now_ = now_.load() + seconds(5);
  pauses_ = 0;
  each_pause_ = std::chrono::milliseconds(100);
  works.room->Await(MiB(800));
  EXPECT_EQ(pauses_, 5);
  works.room->Await(MiB(800));
  EXPECT_EQ(pauses_, 5);
}

TEST_F(DeviceRoomTest, AForeignProgramThatGrowsIsNoticedAndSoIsItsEnd) {
  Program p = Start();
  const Bytes alone = p.pool->budget();
  EXPECT_TRUE(p.Grow(MiB(100)));
  set_device_memory_(0, static_cast<unsigned long long>(memory_used_(0)));
  EXPECT_FALSE(p.Grow(MiB(2)));
  EXPECT_EQ(p.pool->budget(), MiB(100)) << "no fetch may seem to fit";
  Pass(3, p);
  EXPECT_EQ(p.pool->budget(), MiB(100));
  set_device_memory_(0, static_cast<unsigned long long>(memory_used_(0)) + MiB(50).value);
  Pass(1, p);
  EXPECT_EQ(p.pool->budget(), MiB(150));
  set_device_memory_(0, kDevice.value);
  Pass(1, p);
  EXPECT_EQ(p.pool->budget(), alone);
  // One refusal lapses, too, where what is free never says so.
  fail_("cuMemCreate", 1, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(p.Grow(MiB(2)));
  EXPECT_EQ(p.pool->budget(), MiB(100));
  Pass(59, p);
  EXPECT_EQ(p.pool->budget(), MiB(100));
  Pass(1, p);
  EXPECT_EQ(p.pool->budget(), alone);
}

TEST_F(DeviceRoomTest, WhatTheUserGivesNeverChangesAndIsSubtracted) {
  Program given = Start(MiB(600));
  Program beside = Start();
  EXPECT_LE(beside.start.budget, MiB(424));
  EXPECT_GE(beside.start.budget, MiB(300));
  EXPECT_GE(beside.start.expected, MiB(450)) << "half, where others end or give way";
  beside.room->Give(MiB(200));
  EXPECT_EQ(beside.pool->budget(), MiB(200));
  Pass(3, given, beside);
  fail_("cuMemCreate", 1, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(given.Grow(MiB(2)));
  Pass(1, given, beside);
  EXPECT_EQ(given.pool->budget(), MiB(600));
  EXPECT_EQ(beside.pool->budget(), MiB(200));
  // For a while it is less, as the driver needs memory: data leave for that.
  EXPECT_TRUE(given.Grow(MiB(100)));
  given.room->Limit(MiB(50));
  EXPECT_EQ(given.pool->budget(), MiB(50));
}

TEST_F(DeviceRoomTest, WhoStartsHasNoMoreThanItsShare) {
  Program small = Start(MiB(100));
  Program late = Start();
  EXPECT_LT(late.start.budget, MiB(520));
  EXPECT_GE(late.start.budget, MiB(450));
  Pass(3, small, late);
  EXPECT_LT(late.pool->budget(), MiB(520));
  EXPECT_TRUE(late.Grow(MiB(800))) << "it has more where it asks for it";
}

TEST_F(DeviceRoomTest, WhoIsAloneAsksNobodyAndFindsANewcomer) {
  Program p = Start();
  std::vector<Bytes> told;
  p.room->SetListener([&] { told.push_back(p.pool->budget()); });
  asked_ = 0;
  EXPECT_FALSE(p.Grow(kDevice)) << "as far as the budget goes";
  EXPECT_EQ(p.pool->used(), p.pool->budget());
  p.Free();
  p.pool->Trim(Bytes(0));
  Pass(100, p);
  EXPECT_EQ(asked_, 0) << "the driver is not asked";
  EXPECT_THAT(told, ::testing::IsEmpty());
  // Nor is the file read, unless somebody has written.
  ClaimsFile other(folder_.path(), "GPU-1");
  const auto touch = [&](time_t at) {
    const struct timespec times[2] = {{at, 0}, {at, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, other.path().c_str(), times, 0), 0);
  };
  // Within the time in which it looks whatever the file says.
  const auto pass = [&] {
    for (int i = 0; i < 3; ++i) {
      now_ = now_.load() + std::chrono::milliseconds(200);
      p.room->Tick(/*lacks=*/false);
    }
  };
  touch(1000);
  pass();
  const Bytes alone = p.pool->budget();
  const auto says = [](const OtherClaims&) { return OwnClaim{.budget = MiB(100)}; };
  ASSERT_TRUE(other.Exchange(Instant(now_.load()), 1, says).ok());
  touch(1000);
  pass();
  EXPECT_EQ(p.pool->budget(), alone);
  touch(2000);
  Pass(1, p);
  EXPECT_LT(p.pool->budget(), alone);
  EXPECT_THAT(told, ::testing::ElementsAre(p.pool->budget()));
}

TEST_F(DeviceRoomTest, WhatChangesBeforeOrWhileSomebodyListensIsTold) {
  Program a = Start(), b = Start();
  Pass(3, a, b);
  int told = 0;
  a.room->SetListener([&] {
    if (++told == 1) a.room->Lacks(/*refused=*/true);
  });
  Pass(1, a);
  EXPECT_EQ(told, 1) << "from before";
  Pass(1, a);
  EXPECT_EQ(told, 2);
  Pass(3, a);
  EXPECT_EQ(told, 2);
}

TEST_F(DeviceRoomTest, ALookTriesTheLockOnceAndGoesOn) {
  Program a = Start(), b = Start();
  Pass(3, a, b);
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/vramspan")) {
    file = entry.path();
  }
  const int held = open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(held, F_OFD_SETLK, &whole), 0);
  const Bytes before = a.pool->budget();
  const long sleeps = Sleeps();
  Pass(1000, a);
  EXPECT_LT(Sleeps() - sleeps, 500);
  EXPECT_EQ(a.pool->budget(), before);
  a.room->Limit(MiB(300));
  EXPECT_EQ(a.pool->budget(), MiB(300)) << "what the user wants less of is not waited for";
  close(held);
  a.room->Limit(before);
  Pass(2, a, b);
  EXPECT_EQ(a.pool->budget(), before);
}

TEST_F(DeviceRoomTest, TheDriverIsNotCalledWhileTheFileIsLocked) {
  on_free_ = [&] {
    const std::filesystem::path in = folder_.path() + "/vramspan";
    for (const auto& entry : std::filesystem::directory_iterator(in)) {
      const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
      struct flock whole {};
      whole.l_type = F_WRLCK;
      EXPECT_EQ(fcntl(file, F_OFD_SETLK, &whole), 0);
      close(file);
    }
  };
  Program a = Start(), b = Start();
  EXPECT_TRUE(a.Grow(MiB(300)));
  Pass(3, a, b);
  EXPECT_FALSE(b.Grow(MiB(800)));
  Pass(3, a, b);
  EXPECT_GT(asked_, 6);
}

TEST_F(DeviceRoomTest, WhatIsTakenWhileTheDriverSaysWhatIsFreeIsNotCountedTwice) {
  Program a = Start(), b = Start();
  Pass(3, a, b);
  EXPECT_TRUE(b.Grow(MiB(100)));
  Pass(3, a, b);
  int times = 0;
  on_free_ = [&] {
    if (++times != 1) return;
    EXPECT_TRUE(b.Grow(MiB(300)));
    b.room->Tick(/*lacks=*/false);
  };
  a.room->Lacks(/*refused=*/false);
  EXPECT_GT(times, 2) << "it is asked again";
  ExpectSum(a, b);
}

TEST_F(DeviceRoomTest, AFolderThatIsNotToBeUsedIsLetBeForGood) {
  const std::filesystem::path in = folder_.path() + "/vramspan";
  std::filesystem::create_directory(in);
  std::filesystem::permissions(in, std::filesystem::perms::all);
  Program p = Start();
  EXPECT_FALSE(p.start.status.ok());
  const Bytes alone = p.pool->budget();
  std::filesystem::permissions(in, std::filesystem::perms::owner_all);
  Pass(100, p);
  p.room->Limit(MiB(100));
  p.room->Limit(alone);
  EXPECT_TRUE(std::filesystem::is_empty(in));
  Program other = Start();
  EXPECT_GE(other.start.budget, MiB(800));
  Pass(10, p, other);
  EXPECT_EQ(p.pool->budget(), alone);
}

TEST_F(DeviceRoomTest, WhatIsAtThePathOfTheFolderLaterIsLetBe) {
  Program a = Start(), b = Start();
  Pass(3, a, b);
  const std::string moved = folder_.path() + " moved";
  std::filesystem::rename(folder_.path(), moved);
  std::filesystem::create_directory(folder_.path());
  EXPECT_TRUE(a.Grow(MiB(300)));
  Pass(3, a, b);
  ExpectSum(a, b);
  EXPECT_FALSE(b.Grow(MiB(800)));
  Pass(3, a, b);
  ExpectSum(a, b);
  EXPECT_TRUE(b.Grow(MiB(500) - b.pool->used()));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  std::filesystem::remove_all(moved);
}

TEST_F(DeviceRoomTest, WithoutADescriptorItIsTriedAgain) {
  Program a = Start(), b = Start();
  Pass(3, a, b);
  const Bytes beside = a.pool->budget();
  EXPECT_LT(beside, MiB(520));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  Pass(10, a);
  const Bytes without = a.pool->budget();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(without, beside);
  End(&b);
  Pass(1, a);
  EXPECT_GE(a.pool->budget(), MiB(800));
}

TEST_F(DeviceRoomTest, WithoutAFileAllIsAsAlone) {
  Program a = Start();
  const Bytes alone = a.pool->budget();
  Program b = Start();
  Pass(3, a, b);
  ASSERT_LT(a.pool->budget(), alone);
  // As when the user's last session ends.
  std::filesystem::remove_all(folder_.path());
  Pass(1, a);
  EXPECT_EQ(a.pool->budget(), alone);
  const Program c = Start();
  EXPECT_FALSE(c.start.status.ok());
  EXPECT_GE(c.start.budget, MiB(800));
}

}  // namespace
}  // namespace vramspan
