#include "runtime/backing/claims_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/backing/claims_table.h"
#include "runtime/base/process_start.h"
#include "tests/backing/claims_folder.h"

namespace vramspan {
namespace {

class ClaimsFileTest : public ClaimsFolderTest {
 protected:
  ClaimsFile Make() const { return ClaimsFile(folder(), "GPU-12ab/../x"); }
  // What `file` sees of the others when it announces so much.
  StatusOr<OtherClaims> Say(ClaimsFile* file, Bytes budget, Bytes taken = Bytes(0)) {
    OtherClaims seen;
    const Status status = file->Exchange(now_, 3, [&](const OtherClaims& others) {
      seen = others;
      return OwnClaim{.budget = budget, .taken = taken};
    });
    if (!status.ok()) return status;
    return seen;
  }
  Bytes Ahead() {
    ClaimsFile looks = Make();
    const auto seen = Say(&looks, Bytes(0));
    looks.Leave();
    return seen.ok() ? seen->ahead : Bytes(~uint64_t{0});
  }
  // Changes what stands in the file as another program might.
  static void Edit(const ClaimsFile& file, const std::function<void(ClaimsTable*)>& edit) {
    ClaimsTable table;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(bytes.read(reinterpret_cast<char*>(&table), sizeof(table)));
    edit(&table);
    bytes.seekp(0);
    ASSERT_TRUE(bytes.write(reinterpret_cast<const char*>(&table), sizeof(table)));
  }

  Instant now_{std::chrono::hours(1)};
};

TEST_F(ClaimsFileTest, TheLivingOthersAreSeenAndNotOneself) {
  ClaimsFile a = Make(), b = Make();
  EXPECT_THAT(a.path(), ::testing::EndsWith("/vramspan/claims-GPU-12ab----x.v1"));
  EXPECT_EQ(Say(&a, MiB(10))->count, 0u);
  OtherClaims seen = *Say(&b, MiB(20), MiB(15));
  EXPECT_EQ(seen.count, 1u);
  EXPECT_EQ(seen.ahead, MiB(10));
  seen = *Say(&a, MiB(1));
  EXPECT_EQ(seen.taken, MiB(15));
  EXPECT_EQ(seen.ahead, MiB(5));
  EXPECT_EQ(Ahead(), MiB(6));
  a.Leave();
  EXPECT_EQ(Ahead(), MiB(5));
  // The number may be another process's now.
  Edit(b, [](ClaimsTable* t) {
    for (ClaimRecord& r : t->records) ++r.start;
  });
  EXPECT_EQ(Ahead(), Bytes(0));
  struct stat s;
  ASSERT_EQ(stat(a.path().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
  EXPECT_EQ(s.st_size, static_cast<off_t>(sizeof(ClaimsTable)));
}

TEST_F(ClaimsFileTest, AKilledProcessCountsNoMoreAndAChildOfForkNever) {
  ClaimsFile own = Make();
  ASSERT_TRUE(Say(&own, MiB(3)).ok());
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    // By what its parent has it claims nothing, and takes nothing out.
    bool good = !Say(&own, MiB(99)).ok();
    own.Leave();
    ClaimsFile childs = Make();
    good = good && Say(&childs, MiB(10)).ok();
    const char byte = good ? 'y' : 'n';
    static_cast<void>(!write(ready[1], &byte, 1));
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_EQ(Ahead(), MiB(13));
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(Ahead(), MiB(3)) << "it has ended, and nobody has waited for it";
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(Ahead(), MiB(3));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(ClaimsFileTest, OfAClaimThatIsNotRenewedWhatIsTakenCountsAlone) {
  ClaimsFile stopped = Make(), own = Make();
  ASSERT_TRUE(Say(&stopped, MiB(20), MiB(15)).ok());
  now_ += kClaimRenewal * 2;
  OtherClaims seen = *Say(&own, MiB(1));
  EXPECT_EQ(seen.count, 1u);
  EXPECT_EQ(seen.ahead, MiB(5));
  EXPECT_EQ(seen.lapsed, Bytes(0));
  now_ += kClaimRenewal;
  seen = *Say(&own, MiB(1));
  EXPECT_EQ(seen.count, 0u);
  EXPECT_EQ(seen.ahead, Bytes(0));
  EXPECT_EQ(seen.lapsed, MiB(15));
  // It goes on.
  ASSERT_TRUE(Say(&stopped, MiB(20), MiB(15)).ok());
  seen = *Say(&own, MiB(1));
  EXPECT_EQ(seen.ahead, MiB(5));
  EXPECT_EQ(seen.lapsed, Bytes(0));
}

TEST_F(ClaimsFileTest, WhatAProcessClaimedBeforeItBecameAnotherIsNobodys) {
  ClaimsFile before = Make();
  ASSERT_TRUE(Say(&before, MiB(20)).ok());
  Edit(before, [](ClaimsTable* t) { ++t->records[0].image; });
  ClaimsFile own = Make();
  EXPECT_EQ(Say(&own, MiB(1))->count, 0u);
  Edit(own, [](ClaimsTable* t) {
    EXPECT_EQ(t->records[0].budget, MiB(1).value) << "its place is free";
  });
}

TEST_F(ClaimsFileTest, OfAnotherNamespaceAClaimCountsUntilItLapses) {
  ClaimsFile other = Make();
  ASSERT_TRUE(Say(&other, MiB(256)).ok());
  // This one lives in another container, where it has a number that here is no process's.
  Edit(other, [](ClaimsTable* t) { ++t->records[0].space, t->records[0].pid = INT32_MAX; });
  EXPECT_EQ(Ahead(), MiB(256));
  now_ += kClaimRenewal * 3;
  EXPECT_EQ(Ahead(), Bytes(0));
  now_ -= kClaimRenewal * 3;
  EXPECT_EQ(Ahead(), Bytes(0)) << "its place was free, and taken";
  ASSERT_TRUE(Say(&other, MiB(256)).ok());
  Edit(other, [](ClaimsTable* t) { ++t->records[0].space, t->records[0].pid = INT32_MAX; });
  Edit(other, [](ClaimsTable* t) { t->records[0].until = 1; });
  EXPECT_EQ(Ahead(), Bytes(0));
  // Nobody claims for longer than that.
  Edit(other, [](ClaimsTable* t) { t->records[0].until = ~uint64_t{0}; });
  EXPECT_EQ(Ahead(), Bytes(0));
}

// Two start together: one looks at the clock first, and the other has the lock first.
TEST_F(ClaimsFileTest, TheClaimOfWhoLookedAtTheClockLaterCounts) {
  ClaimsFile other = Make();
  ASSERT_TRUE(Say(&other, MiB(256)).ok());
  now_ -= std::chrono::milliseconds(50);
  EXPECT_EQ(Ahead(), MiB(256));
}

TEST_F(ClaimsFileTest, AClaimIsWrittenWhereItIsNewsOrOld) {
  ClaimsFile own = Make();
  ASSERT_TRUE(Say(&own, MiB(1)).ok());
  Edit(own, [](ClaimsTable* t) { t->records[0].until -= 1000; });
  uint64_t until = 0;
  const auto says = [&](Bytes budget) {
    Edit(own, [&](ClaimsTable* t) { until = t->records[0].until; });
    uint64_t after = 0;
    EXPECT_TRUE(Say(&own, budget).ok());
    Edit(own, [&](ClaimsTable* t) { after = t->records[0].until; });
    return after != until;
  };
  EXPECT_FALSE(says(MiB(1)));
  EXPECT_TRUE(says(MiB(2)));
  Edit(own, [](ClaimsTable* t) {
    t->records[0].until -= static_cast<uint64_t>((kClaimRenewal * 2).count());
  });
  EXPECT_TRUE(says(MiB(2)));
}

TEST_F(ClaimsFileTest, WhatOthersWriteIsSeenByTheTimeOfTheFile) {
  ClaimsFile own = Make(), other = Make();
  const auto look = [&] { return Say(&own, MiB(1)).ok(); };
  EXPECT_TRUE(own.Changed());
  ASSERT_TRUE(look());
  ASSERT_TRUE(look());
  EXPECT_TRUE(own.Changed()) << "another may write in the same tick of the clock";
  now_ += std::chrono::milliseconds(250);
  ASSERT_TRUE(look());
  EXPECT_FALSE(own.Changed());
  ASSERT_TRUE(Say(&other, MiB(1)).ok());
  struct timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, own.path().c_str(), times, 0), 0);
  EXPECT_TRUE(own.Changed());
  ASSERT_TRUE(look());
  now_ += std::chrono::milliseconds(250);
  ASSERT_TRUE(look());
  EXPECT_FALSE(own.Changed());
  std::filesystem::remove(own.path());
  EXPECT_TRUE(own.Changed());
}

TEST_F(ClaimsFileTest, AFullFileIsLeftAlone) {
  std::vector<std::unique_ptr<ClaimsFile>> all;
  for (uint32_t i = 0; i < kMostClaims; ++i) {
    all.push_back(std::make_unique<ClaimsFile>(folder(), "GPU-12ab/../x"));
    ASSERT_TRUE(Say(all.back().get(), MiB(1)).ok());
  }
  ClaimsFile late = Make();
  EXPECT_TRUE(absl::IsResourceExhausted(Say(&late, MiB(1)).status()));
  all[7]->Leave();
  EXPECT_EQ(Say(&late, MiB(1))->count, kMostClaims - 1);
}

TEST_F(ClaimsFileTest, WhateverStandsInItIsNumbersOrNothing) {
  std::mt19937_64 random(7);
  ClaimsFile own = Make(), other = Make();
  ASSERT_TRUE(Say(&other, MiB(1)).ok());
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const bool magic = i % 2 == 0;
    size_t size = sizeof(ClaimsTable);
    if (!magic && i % 4 != 1) size = random() % (2 * size);
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (magic) bytes.replace(0, sizeof(ClaimsTable::kMagic), ClaimsTable::kMagic, 16);
    std::ofstream(own.path(), std::ios::trunc | std::ios::binary) << bytes;
    const auto others = Say(&own, MiB(3));
    ASSERT_TRUE(others.ok()) << others.status();
    // Of random numbers those of another namespace that lapse in a minute are one in 10^8.
    EXPECT_EQ(others->count, 0u);
    EXPECT_EQ(Say(&other, MiB(1))->ahead, MiB(3));
    EXPECT_EQ(std::filesystem::file_size(own.path()), sizeof(ClaimsTable));
  }
  // Sums of huge claims do not wrap around.
  ASSERT_TRUE(Say(&own, Bytes(~uint64_t{0})).ok());
  ASSERT_TRUE(Say(&other, Bytes(~uint64_t{0})).ok());
  EXPECT_GE(Ahead(), GiB(1024));
}

TEST_F(ClaimsFileTest, WhatIsNoPlainFileOfThisUsersIsLeftAlone) {
  ClaimsFile own = Make();
  ASSERT_TRUE(Say(&own, MiB(1)).ok());
  const std::string elsewhere = folder() + "/elsewhere";
  std::ofstream(elsewhere) << "mine";
  const auto refused = [&] {
    const bool is = absl::IsFailedPrecondition(Say(&own, MiB(1)).status());
    std::filesystem::remove(own.path());
    return is;
  };
  std::filesystem::remove(own.path());
  std::filesystem::create_symlink(elsewhere, own.path());
  EXPECT_TRUE(refused());
  std::filesystem::create_hard_link(elsewhere, own.path());
  EXPECT_TRUE(refused());
  EXPECT_EQ(std::filesystem::file_size(elsewhere), 4u);
  ASSERT_EQ(mkfifo(own.path().c_str(), 0600), 0);
  EXPECT_TRUE(refused());
  ASSERT_EQ(mkdir(own.path().c_str(), 0700), 0);
  EXPECT_TRUE(refused());
  std::ofstream(own.path()) << "";
  chmod(own.path().c_str(), 0644);
  EXPECT_TRUE(refused()) << "others may read it";
  EXPECT_FALSE(refused());
}

TEST_F(ClaimsFileTest, AFolderThatCannotBeUsedIsLeftAlone) {
  const auto usable = [&](const std::string& at) {
    ClaimsFile file(at, "x");
    return Say(&file, MiB(1)).ok();
  };
  EXPECT_FALSE(usable(folder() + "/nowhere"));
  // No file system that is known to be this machine's own.
  ClaimsFile far("/proc/self/task", "x");
  EXPECT_THAT(std::string(Say(&far, MiB(1)).status().message()),
              ::testing::HasSubstr("may not be on this machine"));
  EXPECT_TRUE(usable(folder()));
  const std::string vramspan = folder() + "/vramspan";
  chmod(vramspan.c_str(), 0777);
  EXPECT_FALSE(usable(folder())) << "others may change it";
  std::filesystem::remove_all(vramspan);
  std::filesystem::create_directory_symlink(folder(), vramspan);
  EXPECT_FALSE(usable(folder()));
  std::filesystem::remove(vramspan);
  const pid_t child = fork();
  if (child == 0) {
    // A full disk, and then a folder of another user's, or one that may not be written.
    rlimit limit{0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    bool good = !usable(folder());
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    good = good && usable(folder()) && std::filesystem::remove_all(vramspan) == 2;
    good = good && chmod(folder().c_str(), 0500) == 0;
    if (geteuid() == 0) good = good && seteuid(65534) == 0;
    _exit(good && !usable(folder()) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  chmod(folder().c_str(), 0700);
}

TEST_F(ClaimsFileTest, WhoHoldsTheLockIsNotWaitedForByTheClock) {
  ClaimsFile own = Make();
  ASSERT_TRUE(Say(&own, MiB(1)).ok());
  const int held = open(own.path().c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(held, F_OFD_SETLK, &whole), 0);
  const auto none = [](const OtherClaims&) { return OwnClaim{}; };
  for (const int tries : {1, 5}) EXPECT_TRUE(absl::IsUnavailable(own.Exchange(now_, tries, none)));
  // However long tries take, as on a machine that was paused, the next is made.
  std::thread lets_go([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    close(held);
  });
  EXPECT_TRUE(own.Exchange(now_, 1'000'000, none).ok());
  lets_go.join();
}

TEST(ProcessStart, IsReadBehindWhateverTheNameIs) {
  const std::string head = "7 (a) Z 1 (b) ";
  const std::string middle = " 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 ";
  EXPECT_EQ(StartInStat(head + "S" + middle + "4 0 12345 99 1"), 12345u);
  EXPECT_EQ(StartInStat(head + "Z" + middle + "4 0 12345 99 1"), 12345u) << "others run";
  EXPECT_EQ(StartInStat(head + "Z" + middle + "1 0 12345 99 1"), std::nullopt);
  EXPECT_EQ(StartInStat(head + "S" + middle + "4 0"), std::nullopt);
  for (const char* text : {"", ")", ") ", "7 (a", "7 (a) S x y z"}) {
    EXPECT_EQ(StartInStat(text), std::nullopt) << text;
  }
  EXPECT_TRUE(ProcessStart(getpid()).has_value());
  EXPECT_EQ(ProcessStart(0), std::nullopt);
  EXPECT_EQ(ProcessStart(-1), std::nullopt);
}

}  // namespace
}  // namespace vramspan
