// Traces that are cut, damaged, of other versions, or nothing of the kind.
#include <absl/hash/hash.h>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "runtime/trace/decoder.h"
#include "runtime/trace/encoder.h"
#include "runtime/trace/reader.h"
#include "tests/trace/sample.h"

namespace vramspan::trace {
namespace {

using ::testing::HasSubstr;

class TraceDamage : public ::testing::Test {
 protected:
  TraceDamage() {
    const std::string path = folder_.File("t");
    auto writer = Writer::Open({.path = path}, SampleHeader());
    VS_CHECK(writer.ok());
    for (int block = 0; block < kBlocks; ++block) {
      for (uint64_t i = 0; i < kEvents; ++i) (*writer)->Add(FreeEvent{i, DevicePtr(i * i)});
      VS_CHECK((*writer)->Flush().ok());
    }
    VS_CHECK((*writer)->Close().ok());
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    bytes_ = text.str();
  }

  struct Got {
    Status status;
    uint64_t frees = 0;
    uint64_t all = 0;  // A hash of all that is read.
    std::vector<std::string> problems;
  };
  static Got Read(const std::string& bytes) {
    const auto reader = Reader::OfBytes(bytes);
    Got got;
    got.status = reader.status();
    if (!reader.ok()) return got;
    (*reader)->ForEach([&](const Reader::Block&, const Event& event) {
      got.all = absl::HashOf(got.all, event.index());
      if (const auto* free = std::get_if<FreeEvent>(&event)) {
        ++got.frees;
        got.all = absl::HashOf(got.all, free->time, free->base.value);
      }
    });
    got.problems = (*reader)->problems();
    return got;
  }

  static constexpr int kBlocks = 5;
  static constexpr uint64_t kEvents = 1000;
  const TestFolder folder_;
  std::string bytes_;
};

TEST_F(TraceDamage, NoneAtAll) {
  const Got got = Read(bytes_);
  EXPECT_EQ(got.frees, kBlocks * kEvents);
  EXPECT_TRUE(got.problems.empty());
}

TEST_F(TraceDamage, CutAnywhere) {
  uint64_t last = 0;
  for (size_t size = 0; size < bytes_.size(); size += 1 + size / 50) {
    const Got got = Read(bytes_.substr(0, size));
    if (!got.status.ok()) {
      EXPECT_LT(size, 600u) << got.status;
      continue;
    }
    EXPECT_EQ(got.frees % kEvents, 0u);
    EXPECT_GE(got.frees, last);
    last = got.frees;
    ASSERT_FALSE(got.problems.empty());
    EXPECT_THAT(got.problems.back(), HasSubstr("no end"));
  }
  EXPECT_GE(last, (kBlocks - 1) * kEvents);
}

// Whatever byte is wrong, the other blocks are read, and it is said where it was; but where all
// that is read is right, for some bits of a zstd frame mean nothing.
TEST_F(TraceDamage, OneByteWrongAnywhere) {
  const size_t first = FindBlock(bytes_, 0);
  const uint64_t right = Read(bytes_).all;
  size_t harmless = 0;
  for (size_t at = first; at < bytes_.size(); at += 7) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    const Got got = Read(damaged);
    ASSERT_TRUE(got.status.ok());
    EXPECT_GE(got.frees, (kBlocks - 1) * kEvents) << "byte " << at;
    if (got.problems.empty() && got.all == right) {
      ++harmless;
      continue;
    }
    ASSERT_FALSE(got.problems.empty()) << "byte " << at;
    EXPECT_THAT(got.problems[0], HasSubstr("at byte "));
  }
  EXPECT_LE(harmless, kBlocks) << "one a frame would be many";
}

TEST_F(TraceDamage, BytesMissingAndBytesAdded) {
  const size_t second = FindBlock(bytes_, FindBlock(bytes_, 0) + 1);
  Got got = Read(bytes_.substr(0, second - 40) + bytes_.substr(second));
  EXPECT_EQ(got.frees, (kBlocks - 1) * kEvents);
  got = Read(bytes_.substr(0, second) + "something else" + bytes_.substr(second));
  EXPECT_EQ(got.frees, kBlocks * kEvents);
  EXPECT_THAT(got.problems[0], HasSubstr("14 bytes are left out"));
}

TEST_F(TraceDamage, OtherFiles) {
  const auto says = [](const std::string& bytes) {
    return std::string(Read(bytes).status.message());
  };
  EXPECT_THAT(says(""), HasSubstr("0 bytes"));
  EXPECT_THAT(says("{\"nodes\": [] , \"schema\": \"1.1\"}"),
              HasSubstr("does not have \"VRAMSPAN\" at byte 8"));
  std::string newer = bytes_;
  newer[16] = 9;
  EXPECT_THAT(says(newer), HasSubstr("version 9"));
  std::string swapped = bytes_;
  std::swap(swapped[18], swapped[19]);
  EXPECT_THAT(says(swapped), HasSubstr("byte order"));
  std::string endless = bytes_;
  endless[7] = '\x7f';
  EXPECT_THAT(says(endless), HasSubstr("claims"));
  const auto missing = Reader::Open("/no/such/file");
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/such/file"));
  EXPECT_THAT(std::string(Reader::Open("/tmp").status().message()), HasSubstr("directory"));
}

// Events of a newer program, and fields that it adds to old ones, are passed over.
TEST_F(TraceDamage, EventsOfLaterVersions) {
  std::vector<uint8_t> raw = {200, 3, 1, 2, 3};          // An unknown type with three bytes.
  const std::vector<uint8_t> free = {2, 4, 2, 4, 7, 7};  // A free with two bytes more.
  raw.insert(raw.end(), free.begin(), free.end());
  BlockPacker packer;
  const auto frames = packer.Pack({.events = 2}, raw);
  ASSERT_TRUE(frames.ok());
  const Got got = Read(PackHeader({}) + std::string(frames->begin(), frames->end()));
  EXPECT_EQ(got.frees, 1u);
  ASSERT_EQ(got.problems.size(), 2u);
  EXPECT_THAT(got.problems[0], HasSubstr("1 events are of types"));
}

// It said nothing of whose the memory is from then on.
TEST_F(TraceDamage, ADiscardOfAnEarlierVersionHasNoFlags) {
  for (const bool unowned : {true, false}) {
    Encoder encoder;
    encoder.Start(0);
    encoder.Add(DiscardEvent{1000, DevicePtr(0x7f0000000000), MiB(8), unowned});
    std::vector<uint8_t> raw = Copy(encoder.Take());
    const auto read = [&raw] {
      Event event;
      Decoder decoder(raw, 0);
      EXPECT_TRUE(*decoder.Next(&event));
      EXPECT_EQ(std::get<DiscardEvent>(event).size, MiB(8));
      return std::get<DiscardEvent>(event).unowned;
    };
    EXPECT_EQ(read(), unowned);
    raw.pop_back();
    --raw[1];
    EXPECT_TRUE(read());
  }
}

// A reader from before there was a kind of event reads the others as if it were not there.
TEST_F(TraceDamage, EventsThatEarlierVersionsPassOver) {
  const Event young[] = {CompareEvent{DevicePtr(0x7f0000200000), MiB(8), 1, 9, true},
                         WaitEvent{1700, 600, WaitEvent::For::kStream, 3},
                         CostEvent{32, 17000},
                         DiscardEvent{1800, DevicePtr(0x7f0000200000), MiB(8)},
                         AlikeEvent{3, 1},
                         OwnEvent{1900, DevicePtr(0x7f0000200000), MiB(2)}};
  for (const Event& passed : young) {
    Encoder encoder;
    encoder.Start(0);
    encoder.Add(FreeEvent{1000, DevicePtr(0x7f0000000000)});
    std::visit([&](const auto& e) { encoder.Add(e); }, passed);
    encoder.Add(FreeEvent{2000, DevicePtr(0x7f0000400000)});
    const BlockBytes bytes = encoder.Take();
    std::vector<uint8_t> raw = Copy(bytes);
    const size_t second = 2 + size_t{raw[1]};  // Behind the first one's type, length and body.
    ASSERT_GE(raw[second], static_cast<uint8_t>(EventType::kCompare));
    raw[second] = 200;
    Decoder decoder(raw, 0);
    Event event;
    ASSERT_TRUE(*decoder.Next(&event));
    ASSERT_TRUE(*decoder.Next(&event));
    EXPECT_EQ(std::get<FreeEvent>(event).time, 2000u);
    EXPECT_EQ(std::get<FreeEvent>(event).base, DevicePtr(0x7f0000400000));
    EXPECT_FALSE(*decoder.Next(&event));
  }
}

// A few bytes that claim very much.
TEST_F(TraceDamage, AbsurdClaims) {
  BlockPacker packer;
  const auto read = [&](const std::vector<uint8_t>& raw) {
    const auto frames = packer.Pack({}, raw);
    return Read(PackHeader({}) + std::string(frames->begin(), frames->end())).problems[0];
  };
  EXPECT_THAT(read({4, 10, 0, 0, 0, 0, 0, 255, 255, 255, 255, 15}), HasSubstr("more ranges"));
  EXPECT_THAT(read({1, 100, 0}), HasSubstr("longer than its block"));
  EXPECT_THAT(read({1, 2, 128, 128}), HasSubstr("ends too soon"));
  EXPECT_THAT(read({0, 0}), HasSubstr("no type"));
  // "The same as before", over and over.
  Encoder encoder;
  encoder.Start(0);
  WorkEvent work;
  work.ranges.resize(kMostRanges);
  for (int i = 0; i < 40; ++i) encoder.Add(work);
  EXPECT_TRUE(encoder.full());
  EXPECT_THAT(read(Copy(encoder.Take())), HasSubstr("a block has more ranges than it may"));
}

}  // namespace
}  // namespace vramspan::trace
