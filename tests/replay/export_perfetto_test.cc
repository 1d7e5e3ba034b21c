#include "tools/replay/export_perfetto.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "tests/replay/random_run.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;

// A message as the wire has it: by field, each value a number or bytes.
struct Value {
  uint64_t number = 0;
  std::string bytes;
};
using Message = std::multimap<uint32_t, Value>;

// Throws away nothing: what is not well formed ends in nullopt.
std::optional<Message> Decode(std::string_view bytes) {
  Message message;
  size_t at = 0;
  const auto varint = [&](uint64_t* value) {
    *value = 0;
    for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      *value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  };
  while (at < bytes.size()) {
    uint64_t key = 0;
    if (!varint(&key)) return std::nullopt;
    Value value;
    switch (key & 7) {
      case 0:
        if (!varint(&value.number)) return std::nullopt;
        break;
      case 1:
        if (bytes.size() - at < 8) return std::nullopt;
        for (int i = 7; i >= 0; --i) {
          value.number =
              value.number << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
        }
        at += 8;
        break;
      case 2: {
        uint64_t length = 0;
        if (!varint(&length) || bytes.size() - at < length) return std::nullopt;
        value.bytes = bytes.substr(at, length);
        at += length;
        break;
      }
      default:
        return std::nullopt;
    }
    message.emplace(static_cast<uint32_t>(key >> 3), value);
  }
  return message;
}

Message Must(std::string_view bytes) {
  auto message = Decode(bytes);
  EXPECT_TRUE(message.has_value());
  return message.value_or(Message());
}
uint64_t Number(const Message& message, uint32_t field) {
  EXPECT_EQ(message.count(field), 1u) << "field " << field;
  const auto at = message.find(field);
  return at == message.end() ? 0 : at->second.number;
}
std::string Text(const Message& message, uint32_t field) {
  const auto at = message.find(field);
  return at == message.end() ? "" : at->second.bytes;
}

struct Slice {
  uint64_t start = 0, end = 0;
  std::string name;
  uint64_t flow = 0;
  std::map<std::string, uint64_t> annotations;
};
struct Track {
  std::string name;
  uint64_t parent = 0;
  bool counter = false;
  std::vector<Slice> slices;  // An instant ends where it starts.
  std::map<uint64_t, uint64_t> values;
};

// By the name of the track. Checks on the way what trace processor asks for.
std::map<std::string, Track> ReadTrace(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  std::map<uint64_t, Track> tracks;
  std::map<uint64_t, std::string> names, annotation_names;
  std::map<uint64_t, std::vector<Slice>> open;
  bool first = true;
  const std::string text = bytes.str();
  for (const auto& [field, value] : Must(text)) {
    EXPECT_EQ(field, 1u);
    const Message packet = Must(value.bytes);
    EXPECT_EQ(Number(packet, 10), 1u) << "trusted_packet_sequence_id";
    EXPECT_EQ(Number(packet, 13), first ? 3u : 2u) << "sequence_flags";
    first = false;
    if (packet.contains(12)) {
      for (const auto& [kind, entry] : Must(Text(packet, 12))) {
        const Message name = Must(entry.bytes);
        auto& table = kind == 2 ? names : annotation_names;
        EXPECT_TRUE(table.emplace(Number(name, 1), Text(name, 2)).second) << "interned twice";
        EXPECT_TRUE(kind == 2 || kind == 3);
      }
    }
    if (packet.contains(60)) {
      const Message t = Must(Text(packet, 60));
      Track track{.name = Text(t, 2), .slices = {}, .values = {}};
      if (t.contains(5)) track.parent = Number(t, 5);
      if (t.contains(8)) {
        track.counter = true;
        EXPECT_EQ(Number(Must(Text(t, 8)), 3), 3u) << "UNIT_SIZE_BYTES";
      }
      EXPECT_TRUE(tracks.emplace(Number(t, 1), track).second);
      continue;
    }
    const Message e = Must(Text(packet, 11));
    const uint64_t time = Number(packet, 8);
    const uint64_t uuid = Number(e, 11);
    EXPECT_TRUE(tracks.contains(uuid)) << "described before it is used";
    Track& track = tracks[uuid];
    const uint64_t type = Number(e, 9);
    EXPECT_EQ(track.counter, type == 4);
    if (type == 4) {
      track.values[time] = Number(e, 30);
      continue;
    }
    if (type == 2) {
      EXPECT_FALSE(open[uuid].empty());
      if (open[uuid].empty()) continue;
      Slice slice = open[uuid].back();
      open[uuid].pop_back();
      slice.end = time;
      track.slices.push_back(slice);
      continue;
    }
    Slice slice{.start = time, .end = time, .name = names[Number(e, 10)], .annotations = {}};
    for (const uint32_t flow : {47u, 48u}) {
      if (e.contains(flow)) slice.flow = Number(e, flow);
    }
    for (auto [a, end] = e.equal_range(4); a != end; ++a) {
      const Message annotation = Must(a->second.bytes);
      slice.annotations[annotation_names[Number(annotation, 1)]] = Number(annotation, 3);
    }
    if (type == 1) {
      EXPECT_TRUE(open[uuid].empty()) << "slices of one track overlap: " << track.name;
      open[uuid].push_back(slice);
    } else {
      EXPECT_EQ(type, 3u);
      track.slices.push_back(slice);
    }
  }
  for (const auto& [uuid, left] : open) EXPECT_TRUE(left.empty()) << "a slice without an end";
  std::map<std::string, Track> by_name;
  for (const auto& [uuid, track] : tracks) EXPECT_TRUE(by_name.emplace(track.name, track).second);
  return by_name;
}

class ExportPerfettoTest : public ::testing::Test {
 protected:
  ExportPerfettoTest() : path_(::testing::TempDir() + "perfetto_" + std::to_string(::getpid())) {}
  ~ExportPerfettoTest() override { std::filesystem::remove(path_); }
  std::map<std::string, Track> Export(const RecordedRun& run) const {
    const Status status = ExportPerfetto(run, path_, true);
    EXPECT_TRUE(status.ok()) << status;
    return ReadTrace(path_);
  }
  const std::string path_;
};

TEST_F(ExportPerfettoTest, EveryLaunchFlowsToItsKernel) {
  RecordedRun run = RandomRun(5, {.works = 300, .streams = 3, .frees = true});
  run.setting.program = "train.py";
  run.works[7].remote = 4096;
  const auto tracks = Export(run);
  EXPECT_THAT(tracks, AllOf(Contains(Key("train.py")), Contains(Key("stream 0")),
                            Contains(Key("stream 1")), Contains(Key("stream 2"))));
  std::map<uint64_t, Slice> launches;
  for (const Slice& launch : tracks.at("launches").slices) launches[launch.flow] = launch;
  ASSERT_EQ(launches.size(), run.works.size());
  size_t kernels = 0;
  for (const auto& [name, track] : tracks) {
    if (name.find("stream") == name.npos) continue;
    EXPECT_EQ(track.parent, 1u);
    uint64_t end = 0;
    for (const Slice& kernel : track.slices) {
      ASSERT_TRUE(launches.contains(kernel.flow));
      const size_t w = kernel.flow - 1;
      EXPECT_EQ("stream " + std::to_string(run.works[w].stream), name);
      EXPECT_EQ(kernel.start, run.works[w].start);
      EXPECT_EQ(kernel.end, run.works[w].end);
      EXPECT_GE(kernel.start, end);
      end = kernel.end;
      EXPECT_EQ(kernel.name, run.codes[run.works[w].code].name);
      EXPECT_EQ(launches[kernel.flow].name, kernel.name);
      EXPECT_EQ(launches[kernel.flow].start, run.works[w].submitted);
      uint64_t bytes = 0;
      for (const RecordedRange& r : run.set(run.works[w].set)) bytes += r.size;
      EXPECT_EQ(kernel.annotations.at("bytes named"), bytes);
      EXPECT_EQ(kernel.annotations.contains("bytes on the host"), w == 7);
      ++kernels;
    }
  }
  EXPECT_EQ(kernels, run.works.size());
}

TEST_F(ExportPerfettoTest, WhatOverlapsHasTracksOfItsOwn) {
  RunBuilder builder;
  const uint32_t a = builder.Allocate(MiB(2));
  for (int i = 0; i < 4; ++i) builder.Work(std::vector<uint32_t>{a});
  RecordedRun run = builder.Take();
  const auto set = [&](size_t w, uint64_t start, uint64_t end) {
    run.works[w].start = start;
    run.works[w].end = end;
  };
  set(0, 100, 500);
  set(1, 200, 300);
  set(2, 300, 600);
  set(3, 700, 700);  // Not measured.
  const auto tracks = Export(run);
  ASSERT_EQ(tracks.at("stream 0").slices.size(), 2u);
  EXPECT_EQ(tracks.at("stream 0").slices[0].end, 500u);
  EXPECT_EQ(tracks.at("stream 0").slices[1].start, 700u);
  EXPECT_EQ(tracks.at("stream 0").slices[1].end, 700u);
  ASSERT_EQ(tracks.at("stream 0 (2)").slices.size(), 2u);
  EXPECT_EQ(tracks.at("stream 0 (2)").slices[1].start, 300u);
}

TEST_F(ExportPerfettoTest, MovesAndMemory) {
  RunBuilder builder;
  const uint32_t a = builder.Allocate(MiB(8));
  const uint32_t b = builder.Allocate(MiB(4));
  builder.Work(std::vector<uint32_t>{a});
  builder.Free(a);
  RecordedRun run = builder.Take();
  run.allocations[a].allocated = 0;
  run.allocations[b].allocated = 10;
  run.allocations[a].freed = 5000;
  run.allocations[b].name = "weights";
  const auto move = [&](uint64_t time, uint64_t duration, uint32_t allocation, bool in) {
    run.moves.push_back({.time = time,
                         .duration = duration,
                         .allocation = allocation,
                         .offset = MiB(2).value,
                         .size = MiB(2).value,
                         .in = in,
                         .clean = !in});
  };
  move(1000, 300, a, false);
  move(1200, 300, a, false);  // Both at once.
  move(2000, 100, b, true);   // It never went out: it was there from the start.
  move(3000, 100, a, true);
  move(6000, 100, a, true);                                             // After it was freed.
  run.waits = {{800, 100, RecordedWait::For::kStream, 3}, {900, 300}};  // Of two threads.
  const auto tracks = Export(run);
  ASSERT_EQ(tracks.at("program waits").slices.size(), 1u);
  EXPECT_EQ(tracks.at("program waits").slices[0].name, "for all work");
  EXPECT_EQ(tracks.at("program waits").slices[0].start, 600u);
  EXPECT_EQ(tracks.at("program waits (2)").slices[0].name, "for stream 3");
  EXPECT_EQ(tracks.at("copies to the host").slices.size(), 1u);
  EXPECT_EQ(tracks.at("copies to the host (2)").slices.size(), 1u);
  const Slice out = tracks.at("copies to the host").slices[0];
  EXPECT_EQ(out.start, 700u);
  EXPECT_EQ(out.end, 1000u);
  EXPECT_EQ(out.name, "allocation 0");
  EXPECT_THAT(out.annotations, ElementsAre(std::pair("bytes", MiB(2).value), std::pair("clean", 1),
                                           std::pair("offset", MiB(2).value)));
  EXPECT_EQ(tracks.at("copies to the device").slices[0].name, "weights");
  const auto mib = [&](const char* track) {
    std::map<uint64_t, uint64_t> values;
    for (const auto& [time, value] : tracks.at(track).values) values[time] = value >> 20;
    return values;
  };
  using Values = std::map<uint64_t, uint64_t>;
  EXPECT_EQ(
      mib("allocated"),
      (Values{
          {0, 8}, {10, 12}, {1000, 12}, {1200, 12}, {2000, 12}, {3000, 12}, {5000, 4}, {6000, 4}}));
  EXPECT_EQ(
      mib("on the host"),
      (Values{{0, 0}, {10, 2}, {1000, 4}, {1200, 6}, {2000, 4}, {3000, 2}, {5000, 0}, {6000, 0}}));
  EXPECT_EQ(
      mib("on the device"),
      (Values{
          {0, 8}, {10, 10}, {1000, 8}, {1200, 6}, {2000, 8}, {3000, 10}, {5000, 4}, {6000, 4}}));
}

TEST_F(ExportPerfettoTest, NamesAreUtf8) {
  RecordedRun run = LoopRun(1, 1);
  run.codes[0].name = "k\xc3\xa4rnel \xff\xe2\x82";
  EXPECT_EQ(Export(run).at("launches").slices[0].name, "k\xc3\xa4rnel ???");
}

TEST_F(ExportPerfettoTest, ReplacesNoFileUnasked) {
  std::ofstream(path_) << "mine";
  EXPECT_EQ(ExportPerfetto(LoopRun(1, 1), path_, false).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(path_), 4u);
}

TEST_F(ExportPerfettoTest, OfNothing) { EXPECT_EQ(Export(RecordedRun()).size(), 5u); }

}  // namespace
}  // namespace vramspan::replay
