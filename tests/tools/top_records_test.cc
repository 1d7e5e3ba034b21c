// Records of processes are found where they live, removed where they do not, and distrusted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "tests/tools/live_records.h"
#include "tools/vramspan/top_json.h"
#include "tools/vramspan/top_rows.h"
#include "tools/vramspan/top_table.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TopRecords : public LiveRecords {
 protected:
  top::Found Find() const { return top::Find(places()); }
  bool Exists(const LiveRecord& r) const {
    return std::filesystem::exists(std::filesystem::symlink_status(PathOf(r)));
  }
};

bool OnlyShows(std::string_view text) {
  for (const char c : text) {
    if (c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) return false;
  }
  return true;
}

TEST_F(TopRecords, AProcessThatLivesIsFoundWithItsCommandLine) {
  Write(Own(1));
  Write(Own(2));
  const top::Found found = Find();
  ASSERT_THAT(found.seen, SizeIs(2));
  EXPECT_EQ(found.seen[1].record.serial, 2u);
  EXPECT_THAT(found.seen[0].command, HasSubstr("tools_top_test"));
  EXPECT_EQ(found.seen[0].program, "trainer");
  EXPECT_FALSE(found.seen[0].elsewhere);
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(TopRecords, AFolderThatIsNotThereHasNone) {
  const top::Found found = top::Find({{run() + "/nowhere", "vramspan"}, {run(), "nothing"}});
  EXPECT_THAT(found.seen, IsEmpty());
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(TopRecords, TheSameFolderCountsOnce) {
  Write(Own());
  const UserFolder place{run(), "vramspan"};
  EXPECT_THAT(top::Find({place, place}).seen, SizeIs(1));
}

TEST_F(TopRecords, WhoHasEndedGoes) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  LiveRecord dead = Own();
  dead.pid = static_cast<uint32_t>(child);
  dead.start = ProcessStart(child).value_or(0);
  Write(dead);
  EXPECT_THAT(Find().seen, SizeIs(1)) << "it lives";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(Find().seen, IsEmpty());
  EXPECT_FALSE(Exists(dead));
}

TEST_F(TopRecords, AnotherProcessOfTheSameNumberIsNotTakenForIt) {
  LiveRecord before = Own();
  ++before.start;
  Write(before);
  EXPECT_THAT(Find().seen, IsEmpty());
  EXPECT_FALSE(Exists(before));
}

TEST_F(TopRecords, AProcessThatBecameAnotherShowsWhatThatShows) {
  LiveRecord without = Own(1);
  ++without.exe_inode;
  Write(without);
  LiveRecord before = Own(2), after = Own(3);
  before.image = 999;
  Write(before);
  Write(after);
  const top::Found found = Find();
  ASSERT_THAT(found.seen, SizeIs(1));
  EXPECT_EQ(found.seen[0].record.serial, 3u);
  EXPECT_FALSE(Exists(without));
}

TEST_F(TopRecords, AProcessOfAContainerIsShownForADay) {
  LiveRecord other = Own(1);
  ++other.space;
  other.pid = 1;
  Write(other);
  LiveRecord silent = other;
  silent.serial = 2;
  const uint64_t day = uint64_t{86400} * 1'000'000'000;
  // The machine may not have run for so long.
  if (silent.written > 2 * day) {
    silent.written -= 2 * day;
    Write(silent);
  }
  const top::Found found = Find();
  ASSERT_THAT(found.seen, SizeIs(1));
  EXPECT_TRUE(found.seen[0].elsewhere);
  EXPECT_EQ(found.seen[0].command, "trainer") << "its number says nothing here";
  EXPECT_FALSE(Exists(silent));
}

TEST_F(TopRecords, AnotherVersionIsSaidAndLeftAlone) {
  const std::string name = "live-" + std::to_string(ProcessNumberSpace()) + "-" + pid() + "-1.v9";
  Write(name, "what it will be");
  const top::Found found = Find();
  EXPECT_THAT(found.seen, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("is of another version of vramspan")));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/" + name));
}

TEST_F(TopRecords, AnotherVersionOfTheDeadGoes) {
  const std::string name = "live-" + std::to_string(ProcessNumberSpace()) + "-2147483646-1.v9";
  Write(name, "");
  EXPECT_THAT(Find().notes, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder() + "/" + name));
}

TEST_F(TopRecords, WhatIsNoRecordIsSaid) {
  const std::string whole = Bytes(Own());
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  LiveRecord unsealed = Own();
  unsealed.Seal();
  unsealed.sum ^= 1;
  const std::string wrong_sum(reinterpret_cast<const char*>(&unsealed), sizeof(unsealed));
  for (const std::string& bytes :
       {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() - 1), whole + "x",
        std::string(whole.size(), '\0'), std::string(whole.size(), '\xff'), changed, wrong_sum,
        std::string(1 << 20, 'v')}) {
    Write(NameOf(Own()), bytes);
    const top::Found found = Find();
    EXPECT_THAT(found.seen, IsEmpty()) << bytes.size();
    EXPECT_THAT(found.notes, ElementsAre(HasSubstr("is no live record; remove it")));
  }
}

TEST_F(TopRecords, ARecordUnderAnothersNameIsSaid) {
  Write(NameOf(Own(7)), Bytes(Own(8)));
  const top::Found found = Find();
  EXPECT_THAT(found.seen, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("of another process")));
}

TEST_F(TopRecords, LinksPipesFoldersAndWhatOthersMayReadAreNotFollowed) {
  std::ofstream(run() + "/good", std::ios::binary) << Bytes(Own());
  chmod((run() + "/good").c_str(), 0600);
  std::filesystem::create_symlink(run() + "/good", PathOf(Own(1)));
  std::filesystem::create_hard_link(run() + "/good", PathOf(Own(2)));
  ASSERT_EQ(mkfifo(PathOf(Own(3)).c_str(), 0600), 0);
  std::filesystem::create_directory(PathOf(Own(4)));
  Write(Own(5));
  chmod(PathOf(Own(5)).c_str(), 0644);
  const top::Found found = Find();
  EXPECT_THAT(found.seen, IsEmpty());
  EXPECT_THAT(found.notes, SizeIs(5));
  EXPECT_THAT(found.notes, ::testing::Each(HasSubstr("is not a file of this user's alone")));
  if (geteuid() != 0) return;  // Only root can give a file away.
  std::filesystem::remove_all(folder());
  MakeFolder();
  Write(Own());
  ASSERT_EQ(chown(PathOf(Own()).c_str(), 65534, 65534), 0);
  EXPECT_THAT(Find().notes, ElementsAre(HasSubstr("is not a file of this user's alone")));
}

TEST_F(TopRecords, AFolderThatOthersMayChangeIsNotUsed) {
  Write(Own());
  chmod(folder().c_str(), 0770);
  const top::Found found = Find();
  EXPECT_THAT(found.seen, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("others may change it")));
}

TEST_F(TopRecords, ManyBadFilesAreFewLines) {
  for (int i = 0; i < 100; ++i) {
    Write("live-1-" + std::to_string(i) + "-1.v" + kLiveVersion, "");
  }
  EXPECT_THAT(Find().notes, SizeIs(6));
}

// Whatever numbers and texts a record holds, what is shown of it is bounded and only shows.
TEST_F(TopRecords, WhatARecordSaysIsShownCleanAndBounded) {
  LiveRecord r = Own();
  std::memset(reinterpret_cast<char*>(&r) + offsetof(LiveRecord, program), 0xff,
              sizeof(r) - offsetof(LiveRecord, program));
  std::strcpy(r.device, "a\x1b[2Jb\n\x07");
  std::memset(r.program, '\x1b', sizeof(r.program));
  Write(r);
  top::Samples samples;
  samples.Next(Find().seen, top::SteadyNow());
  r.written -= 5;
  r.bytes_in = 3;
  Write(r);
  const std::vector<top::Row> rows = samples.Next(Find().seen, top::SteadyNow());
  ASSERT_THAT(rows, SizeIs(1));
  const std::string table = top::Table(rows, /*decisions=*/true, 1);
  EXPECT_TRUE(OnlyShows(table)) << table;
  EXPECT_LT(table.size(), 10000u);
  EXPECT_TRUE(OnlyShows(top::Json(rows, {}, 1, /*lines=*/true)));
  EXPECT_TRUE(OnlyShows(top::Json(rows, {}, 1, /*lines=*/false)));
}

TEST_F(TopRecords, OneThatIsWrittenMeanwhileIsReadWholeOrNotAtAll) {
  LiveRecord a = Own(), b = Own();
  // On both sides of the middle.
  constexpr size_t kFilled = sizeof(a.moved) + sizeof(a.decisions);
  std::memset(reinterpret_cast<char*>(&a) + offsetof(LiveRecord, moved), 0x11, kFilled);
  std::memset(reinterpret_cast<char*>(&b) + offsetof(LiveRecord, moved), 0x22, kFilled);
  const std::string bytes[2] = {Bytes(a), Bytes(b)};
  Write(a);
  std::atomic<bool> end{false};
  std::thread writer([&] {
    const int file = open(PathOf(a).c_str(), O_WRONLY | O_CLOEXEC);
    for (int i = 0; !end; ++i) {
      const std::string& now = bytes[i % 2];
      // In two parts, so that a reader may come between them.
      const size_t half = now.size() / 2;
      static_cast<void>(!pwrite(file, now.data(), half, 0));
      static_cast<void>(
          !pwrite(file, now.data() + half, now.size() - half, static_cast<off_t>(half)));
    }
    close(file);
  });
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    for (const top::Seen& one : Find().seen) {
      ++seen;
      const std::string_view moved(
          reinterpret_cast<const char*>(&one.record) + offsetof(LiveRecord, moved), kFilled);
      EXPECT_EQ(moved.find_first_not_of(moved[0]), std::string_view::npos) << "halves of two";
    }
  }
  end = true;
  writer.join();
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace vramspan
