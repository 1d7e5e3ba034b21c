#include "tools/replay/json_stream.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/replay/text_source.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

struct ReadStream {
  StatusOr<JsonStreamResult> result;
  std::vector<std::string> elements;
};

ReadStream ReadAll(const std::string& text, const JsonStreamLimits& limits = {}) {
  ReadStream read{absl::UnknownError(""), {}};
  std::stringbuf buffer(text);
  read.result = ReadJsonStream(
      &buffer, "nodes",
      [&](const nlohmann::json& element) {
        read.elements.push_back(element.dump());
        return absl::OkStatus();
      },
      limits);
  return read;
}

std::string Error(const std::string& text, const JsonStreamLimits& limits = {}) {
  const ReadStream read = ReadAll(text, limits);
  EXPECT_EQ(read.result.status().code(), absl::StatusCode::kFailedPrecondition) << text;
  return std::string(read.result.status().message());
}

TEST(JsonStream, GivesElementsAndKeepsPlainMembers) {
  const ReadStream read = ReadAll(R"({"schema": "1.1", "pid": 7, "nodes": [
      {"id": 1, "a": [[], {"b": null}, [1, -2, 3.5]]}, 5, "x", [true, [false]], {}
    ], "other": {"nodes": [1, 2], "pid": 9}, "more": [[3]], "end": 8.5})");
  ASSERT_TRUE(read.result.ok()) << read.result.status();
  EXPECT_TRUE(read.result->found);
  EXPECT_EQ(read.result->elements, 5u);
  EXPECT_THAT(read.elements, ElementsAre(R"({"a":[[],{"b":null},[1,-2,3.5]],"id":1})", "5", "\"x\"",
                                         "[true,[false]]", "{}"));
  EXPECT_THAT(read.result->members,
              UnorderedElementsAre(Pair("schema", "1.1"), Pair("pid", 7), Pair("end", 8.5)));
}

TEST(JsonStream, SaysWhereThereIsNoSuchArray) {
  for (const char* text : {"{}", R"({"nodes": 3})", R"({"nodes": {"nodes": [1]}})"}) {
    const ReadStream read = ReadAll(text);
    ASSERT_TRUE(read.result.ok()) << text;
    EXPECT_FALSE(read.result->found) << text;
    EXPECT_THAT(read.elements, IsEmpty());
  }
}

TEST(JsonStream, RefusesWhatIsNoDocument) {
  EXPECT_THAT(Error(""), HasSubstr("no JSON"));
  EXPECT_THAT(Error("[1, 2]"), HasSubstr("no object"));
  EXPECT_THAT(Error("3"), HasSubstr("no object"));
  EXPECT_THAT(Error(R"({"nodes": [1, })"), HasSubstr("no JSON at byte 15"));
  EXPECT_THAT(Error(R"({"nodes": [1)"), HasSubstr("no JSON"));
  EXPECT_THAT(Error(R"({"nodes": []} x)"), HasSubstr("no JSON"));
  EXPECT_THAT(Error(R"({"nodes": [1], "nodes": [2]})"), HasSubstr("second"));
}

TEST(JsonStream, KeepsToItsLimits) {
  EXPECT_THAT(Error(R"({"nodes": [)" + std::string(100, '[') + std::string(100, ']') + "]}"),
              HasSubstr("64 levels"));
  EXPECT_THAT(Error(R"({"x": )" + std::string(100'000, '[')), HasSubstr("64 levels"));
  EXPECT_THAT(Error(R"({"nodes": [1, 2, 3]})", {.elements = 2}),
              AllOf(HasSubstr("more than 2 elements"), HasSubstr("'nodes'")));
  std::string many = "0";
  for (int i = 0; i < 1000; ++i) many += ",0";
  EXPECT_THAT(Error(R"({"nodes": [[)" + many + "]]}", {.element_size = 10000}),
              HasSubstr("10000 bytes"));
  // Each is small; and an escaped quote does not end a string.
  EXPECT_TRUE(ReadAll(R"({"nodes": [)" + many + "]}", {.element_size = 200}).result.ok());
  const std::string quotes = R"({"nodes": ["a\"b\\", ")" + std::string(300, 'y') + R"("]})";
  EXPECT_TRUE(ReadAll(quotes).result.ok());
  EXPECT_THAT(Error(quotes, {.element_size = 250}), HasSubstr("250 bytes"));
  // What is passed over is not held either.
  for (const std::string& text : {R"({"x": ")" + std::string(40000, '!') + R"("})",
                                  R"({"x": [)" + std::string(40000, '1') + "]}"}) {
    EXPECT_THAT(Error(text, {.element_size = 30000}), HasSubstr("30000 bytes"));
  }
}

TEST(JsonStream, TheElementsErrorEndsIt) {
  std::stringbuf buffer(R"({"nodes": [1, 2, 3]})");
  int seen = 0;
  const auto result = ReadJsonStream(&buffer, "nodes", [&](const nlohmann::json& element) {
    ++seen;
    return element == 2 ? absl::OutOfRangeError("two") : absl::OkStatus();
  });
  EXPECT_EQ(result.status(), absl::OutOfRangeError("two"));
  EXPECT_EQ(seen, 2);
}

class TextSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "text_source_" + std::to_string(::getpid());
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string Packed(const std::string& text) const {
    const gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    return bytes.str();
  }
  // What it gives, then its status.
  std::pair<std::string, Status> ReadBack(uint64_t most) const {
    auto source = TextSource::Open(path_, most);
    if (!source.ok()) return {"", source.status()};
    std::string text;
    char buffer[1000];
    for (std::streamsize n; (n = (*source)->sgetn(buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
    return {text, (*source)->status()};
  }

  std::string path_;
};

// What is packed a thousand times over is no text that anybody recorded.
TEST_F(TextSourceTest, AFewBytesDoNotUnpackToMany) {
  const size_t packed = Packed(std::string(80 << 20, ' ')).size();
  ASSERT_LT(packed, 1u << 17);
  const auto [text, status] = ReadBack(uint64_t{1} << 40);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(path_ + ": is longer than"));
  EXPECT_LE(text.size(), (64u << 20) + 100 * packed);
}

TEST_F(TextSourceTest, ReadsPlainAndPacked) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i) + "\n";
  Write(text);
  EXPECT_EQ(ReadBack(text.size()), std::make_pair(text, absl::OkStatus()));
  Write(Packed(text));
  EXPECT_EQ(ReadBack(text.size()), std::make_pair(text, absl::OkStatus()));
  Write("");
  EXPECT_EQ(ReadBack(10), std::make_pair(std::string(), absl::OkStatus()));
}

TEST_F(TextSourceTest, SaysWhatIsWrong) {
  const std::string text(1 << 20, 'a');
  const std::string packed = Packed(text);
  Write(packed.substr(0, packed.size() / 2));
  EXPECT_EQ(ReadBack(1 << 30).second.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(ReadBack(1 << 30).second.message()),
              AllOf(HasSubstr(path_), HasSubstr("cut short")));
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  damaged[damaged.size() - 6] = static_cast<char>(~damaged[damaged.size() - 6]);
  Write(damaged);
  EXPECT_EQ(ReadBack(1 << 30).second.code(), absl::StatusCode::kDataLoss);
  // A little that unpacks to much.
  Write(packed);
  EXPECT_EQ(ReadBack(text.size() - 1).second.code(), absl::StatusCode::kResourceExhausted);
  std::filesystem::remove(path_);
  EXPECT_EQ(ReadBack(1).second.code(), absl::StatusCode::kNotFound);
  path_ = ::testing::TempDir();
  EXPECT_FALSE(ReadBack(1).second.ok());
  path_ += "none";
}

}  // namespace
}  // namespace vramspan::replay
