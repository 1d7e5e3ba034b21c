#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "runtime/trace/decoder.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/varint.h"
#include "tests/trace/sample.h"

namespace vramspan::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An event that stays as it is when the next one is read.
Event Kept(Event event) {
  if (auto* work = std::get_if<WorkEvent>(&event); work != nullptr && work->before != nullptr) {
    work->ranges = *work->before;
    work->before = nullptr;
  }
  return event;
}

std::vector<Event> ReadAll(Reader& reader) {
  std::vector<Event> events;
  reader.ForEach([&](const Reader::Block&, const Event& e) { events.push_back(Kept(e)); });
  return events;
}

TEST(Varint, KeepsEveryNumber) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t value : {uint64_t{1} << shift, (uint64_t{1} << shift) - 1}) {
      uint8_t bytes[kMostVarint];
      const uint8_t* end = PutVarint(bytes, value);
      VarintReader in(bytes, end);
      EXPECT_EQ(in.Take(), value);
      EXPECT_TRUE(in.ok());
      EXPECT_EQ(in.left(), 0u);
      for (const uint64_t from : {uint64_t{0}, uint64_t{12345}, ~uint64_t{0}}) {
        EXPECT_EQ(Unfold(from, Fold(from, value)), value);
      }
    }
  }
  const uint8_t endless[11] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
  VarintReader in(endless, endless + 11);
  EXPECT_EQ(in.Take(), 0u);
  EXPECT_FALSE(in.ok());
}

TEST(Trace, BlocksKeepEveryEvent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Event> events = SampleEvents(seed, 500);
    Encoder encoder;
    // Twice, since a block begins from nothing.
    for (int round = 0; round < 2; ++round) {
      encoder.Start(77);
      for (const Event& event : events) std::visit([&](const auto& e) { encoder.Add(e); }, event);
      const BlockBytes bytes = encoder.Take();
      Decoder decoder(bytes, 77);
      Event event;
      for (const Event& expected : events) {
        const StatusOr<bool> more = decoder.Next(&event);
        ASSERT_TRUE(more.ok() && *more) << more.status();
        ASSERT_EQ(event.index(), expected.index());
        ASSERT_EQ(BytesOf(event), BytesOf(expected));
      }
      EXPECT_FALSE(*decoder.Next(&event));
    }
  }
}

TEST(Trace, MoreRangesThanARecordHoldsGoOnInTheNext) {
  WorkEvent work;
  work.id = 9;
  for (uint64_t i = 0; i < kMostRanges * 2 + 5; ++i)
    work.ranges.push_back({DevicePtr(i << 12), KiB(4)});
  Encoder encoder;
  encoder.Start(0);
  encoder.Add(work);
  const BlockBytes bytes = encoder.Take();
  Decoder decoder(bytes, 0);
  Event event;
  std::vector<TracedRange> all;
  while (*decoder.Next(&event)) {
    const auto& part = std::get<WorkEvent>(event);
    EXPECT_EQ(part.id, 9u);
    all.insert(all.end(), part.ranges.begin(), part.ranges.end());
  }
  EXPECT_EQ(all, work.ranges);
}

TEST(Trace, ThreadsWriteAFileThatReadsBack) {
  const TestFolder folder;
  const std::string path = folder.File("t.vramspan");
  constexpr int kThreads = 4;
  constexpr size_t kEvents = 30000;
  {
    auto writer =
        Writer::Open({.path = path, .flush = std::chrono::milliseconds(1)}, SampleHeader());
    ASSERT_TRUE(writer.ok()) << writer.status();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (const Event& event : SampleEvents(static_cast<uint64_t>(t), kEvents)) {
          std::visit([&](const auto& e) { (*writer)->Add(e); }, event);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE((*writer)->Close().ok());
    (*writer)->Add(FreeEvent{});  // Too late, and no harm.
  }
  const auto reader = Reader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->header().program, SampleHeader().program);
  EXPECT_EQ((*reader)->header().device_memory, GiB(80));
  EXPECT_EQ((*reader)->header().serve_gb_per_s, 51.25);
  EXPECT_EQ((*reader)->header().chunk_log2, 24);
  std::vector<std::vector<Event>> by_thread(kThreads + 1);
  (*reader)->ForEach([&](const Reader::Block& block, const Event& event) {
    ASSERT_LE(block.header.thread, static_cast<uint32_t>(kThreads));
    by_thread[block.header.thread].push_back(Kept(event));
  });
  EXPECT_THAT((*reader)->problems(), IsEmpty());
  EXPECT_TRUE((*reader)->ended());
  // Which thread got which buffer is not said; its first event tells.
  int found = 0;
  for (const std::vector<Event>& events : by_thread) {
    for (int t = 0; t < kThreads; ++t) {
      const std::vector<Event> expected = SampleEvents(static_cast<uint64_t>(t), kEvents);
      if (events.size() != kEvents || BytesOf(events[0]) != BytesOf(expected[0])) continue;
      ++found;
      for (size_t i = 0; i < kEvents; ++i) ASSERT_EQ(BytesOf(events[i]), BytesOf(expected[i]));
    }
  }
  EXPECT_EQ(found, kThreads);
}

TEST(Trace, WhatIsThereIsNotWrittenOver) {
  const TestFolder folder;
  const std::string path = folder.File("t.vramspan");
  ASSERT_TRUE(Writer::Open({.path = path}, {}).ok());
  const auto again = Writer::Open({.path = path}, {});
  EXPECT_TRUE(absl::IsAlreadyExists(again.status()));
  EXPECT_THAT(std::string(again.status().message()), HasSubstr(path));
  EXPECT_TRUE(Writer::Open({.path = path, .force = true}, {}).ok());
  const auto nowhere = Writer::Open({.path = folder.File("no/t")}, {});
  EXPECT_THAT(std::string(nowhere.status().message()), HasSubstr("No such file"));
  const auto named = Writer::Open({.path = folder.File("%p.trace")}, {});
  ASSERT_TRUE(named.ok());
  EXPECT_EQ((*named)->path(), folder.File(std::to_string(getpid()) + ".trace"));
}

// A killed program's file reads to the last block that was written.
TEST(Trace, AKilledProgramLeavesAReadableFile) {
  const TestFolder folder;
  const std::string path = folder.File("t.vramspan");
  const pid_t child = fork();
  if (child == 0) {
    auto writer = Writer::Open({.path = path}, SampleHeader());
    for (const Event& event : SampleEvents(1, 1000)) {
      std::visit([&](const auto& e) { (*writer)->Add(e); }, event);
    }
    if (!(*writer)->Flush().ok()) _exit(1);
    for (int i = 0; i < 10; ++i) (*writer)->Add(FreeEvent{});
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto reader = Reader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_GE(ReadAll(**reader).size(), 1000u);
  EXPECT_FALSE((*reader)->ended());
  ASSERT_EQ((*reader)->problems().size(), 1u);
  EXPECT_THAT((*reader)->problems()[0], HasSubstr("no end"));
}

// A forked child has its parent's writer in memory, and leaves its parent's file alone.
TEST(Trace, AForkedChildWritesNothing) {
  const TestFolder folder;
  const std::string path = folder.File("t.vramspan");
  {
    auto writer = Writer::Open({.path = path}, SampleHeader());
    ASSERT_TRUE(writer.ok());
    (*writer)->Add(FreeEvent{1, DevicePtr(1)});
    const pid_t child = fork();
    if (child == 0) {
      (*writer)->Add(FreeEvent{2, DevicePtr(2)});
      const bool fine = (*writer)->Flush().ok() && (*writer)->Close().ok();
      static_cast<void>(writer->release());
      _exit(fine ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    (*writer)->Add(FreeEvent{3, DevicePtr(3)});
  }
  const auto reader = Reader::Open(path);
  ASSERT_TRUE(reader.ok());
  const std::vector<Event> events = ReadAll(**reader);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(std::get<FreeEvent>(events[1]).base, DevicePtr(3));
}

// A disk that cannot keep up costs events, which are counted, and no memory.
TEST(Trace, WhatIsDroppedIsCounted) {
  const TestFolder folder;
  const std::string path = folder.File("t.vramspan");
  constexpr uint64_t kEvents = 200000;
  {
    auto writer = Writer::Open({.path = path, .most_waiting = 300 << 10}, SampleHeader());
    ASSERT_TRUE(writer.ok());
    for (uint64_t i = 0; i < kEvents; ++i) {
      (*writer)->Add(FreeEvent{i, DevicePtr(i * 0x9e3779b97f4a7c15)});
    }
  }
  const auto reader = Reader::Open(path);
  ASSERT_TRUE(reader.ok());
  uint64_t frees = 0, lost = 0;
  (*reader)->ForEach([&](const Reader::Block&, const Event& event) {
    frees += std::holds_alternative<FreeEvent>(event) ? 1 : 0;
    if (const auto* e = std::get_if<LostEvent>(&event)) lost += e->count;
  });
  EXPECT_EQ(frees + lost, kEvents);
}

}  // namespace
}  // namespace vramspan::trace
