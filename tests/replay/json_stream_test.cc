#include "tools/replay/json_stream.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <sstream>

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
  EXPECT_THAT(Error(""), HasSubstr("not JSON"));
  EXPECT_THAT(Error("[1, 2]"), HasSubstr("not an object"));
  EXPECT_THAT(Error("3"), HasSubstr("not an object"));
  EXPECT_THAT(Error(R"({"nodes": [1, })"), HasSubstr("not JSON at byte 15"));
  EXPECT_THAT(Error(R"({"nodes": []} x)"), HasSubstr("not JSON"));
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

TEST(JsonStream, TakesWhatPythonWritesForNoNumber) {
  const ReadStream read = ReadAll(R"({"a": NaN, "nodes": [1, nan, NaN, -nan, inf, -inf, +Infinity,
      -Infinity,INF,[nan],{"x":inf}, null, -5, "nan", "\"inf, nan"]})");
  ASSERT_TRUE(read.result.ok()) << read.result.status();
  EXPECT_THAT(read.elements,
              ElementsAre("1", "\"\"", "\"\"", "\"\"", "\"\"", "\"\"", "\"\"", "\"\"", "\"\"",
                          "[\"\"]", R"({"x":""})", "null", "-5", "\"nan\"", R"("\"inf, nan")"));
  for (const char* word : {"nano", "infinit", "nil", "-", "-x", "n", "nan5", "Inf.0"}) {
    EXPECT_THAT(Error(absl::StrCat(R"({"nodes": [)", word, "]}")), HasSubstr("not JSON at byte"));
  }
  // Wherever what is read at a time ends.
  for (size_t before = 16370; before < 16400; ++before) {
    const ReadStream late = ReadAll(R"({"nodes": [)" + std::string(before, ' ') + "-Infinity, 7]}");
    ASSERT_TRUE(late.result.ok()) << late.result.status();
    EXPECT_THAT(late.elements, ElementsAre("\"\"", "7"));
  }
}

// A program that was killed leaves what it had written.
TEST(JsonStream, ATextThatJustEndsIsUsed) {
  const std::string whole = R"({"a": 5, "nodes": [{"x": -1.5e3, "y": [true, nan, "z\"\u00e9"]}, )"
                            R"(null, inf, {"x": 2}], "end": 12})";
  const size_t begins = whole.find('[') + 1;
  const size_t first = whole.find("}, ") + 1;
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size < begins) {
      EXPECT_THAT(Error(whole.substr(0, size)), HasSubstr("not JSON")) << size;
      continue;
    }
    const ReadStream read = ReadAll(whole.substr(0, size));
    ASSERT_TRUE(read.result.ok()) << whole.substr(0, size) << read.result.status();
    EXPECT_TRUE(read.result->cut);
    EXPECT_EQ(read.elements.empty(), size < first) << size;
    EXPECT_GE(read.elements.size(), most);
    most = read.elements.size();
    // A file system gives zeros for what never got to the disk.
    const ReadStream zeros = ReadAll(whole.substr(0, size) + std::string(70'000, '\0'));
    ASSERT_TRUE(zeros.result.ok()) << zeros.result.status();
    EXPECT_TRUE(zeros.result->cut);
    EXPECT_EQ(zeros.elements, read.elements);
  }
  EXPECT_EQ(most, 4u);
  const ReadStream all = ReadAll(whole + std::string(70'000, '\0'));
  ASSERT_TRUE(all.result.ok()) << all.result.status();
  EXPECT_FALSE(all.result->cut);
}

TEST(JsonStream, WhatIsBehindTheDocumentIsNotPassedOver) {
  for (const char* tail : {"x", "{}", ",", "]", "nan", "n", "\"x", "{\"nodes\": ["}) {
    EXPECT_THAT(Error(std::string(R"({"nodes": [1]} )") + tail), HasSubstr("not JSON at byte"));
  }
  EXPECT_THAT(Error(R"({"nodes": [1]})" + std::string(9, '\0') + "x"), HasSubstr("not JSON"));
  EXPECT_THAT(Error(R"({"nodes": [1,]})"), HasSubstr("not JSON"));
  EXPECT_THAT(Error("{\"nodes\": [\"\xff\xfe\"]}"), HasSubstr("not JSON"));
}

TEST(JsonStream, TellsTextThatIsNotInUtf8) {
  EXPECT_THAT(ReadAll("\xef\xbb\xbf{\"nodes\": [7]}").elements, ElementsAre("7"));
  const auto wide = [](std::string mark, size_t unit, bool little) {
    for (const char c : std::string("{\"nodes\": []}")) {
      std::string bytes(unit, '\0');
      bytes[little ? 0 : unit - 1] = c;
      mark += bytes;
    }
    return mark;
  };
  EXPECT_THAT(Error(wide("\xff\xfe", 2, true)), HasSubstr("text in UTF-16"));
  EXPECT_THAT(Error(wide("\xfe\xff", 2, false)), HasSubstr("iconv -f UTF-16 -t UTF-8"));
  EXPECT_THAT(Error(wide(std::string("\xff\xfe\0\0", 4), 4, true)), HasSubstr("text in UTF-32"));
  EXPECT_THAT(Error(wide(std::string("\0\0\xfe\xff", 4), 4, false)), HasSubstr("text in UTF-32"));
}

}  // namespace
}  // namespace vramspan::replay
