#include "tools/replay/load_run.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "runtime/trace/block.h"
#include "tests/replay/random_run.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/oracle_general.h"

namespace vramspan::replay {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadRunTest : public ::testing::Test {
 protected:
  LoadRunTest() : path_(::testing::TempDir() + "load_run_" + std::to_string(::getpid())) {}
  ~LoadRunTest() override { std::filesystem::remove(path_); }
  void Write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  void WritePacked(const std::string& bytes) const {
    const gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  const std::string path_;
};

constexpr char kPytorch[] = R"json(
  {"schema": "1.1.1-chakra.0.0.4", "nodes": [
    {"id": 3, "name": "aten::relu", "ctrl_deps": 2,
     "inputs": {"values": [[4, 5, 0, 6, 4, "cuda:0"]], "types": ["Tensor(float)"]},
     "outputs": {"values": [[7, 8, 0, 6, 4, "cuda:0"]], "types": ["Tensor(float)"]},
     "attrs": [{"name": "op_schema", "value": "aten::relu(Tensor self) -> Tensor"}]}]})json";

TEST_F(LoadRunTest, WhichCodesAreAlikeIsKept) {
  RecordedRun loop = LoopRun(3, 4);
  ASSERT_GE(loop.codes.size(), 2u);
  loop.codes.back().alike = 0;
  ASSERT_TRUE(SaveTrace(loop, path_, false).ok());
  const auto run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->codes.size(), loop.codes.size());
  EXPECT_EQ(run->codes.front().alike, std::nullopt);
  EXPECT_EQ(run->codes.back().alike, 0u);
  loop.codes.back().alike = static_cast<uint32_t>(loop.codes.size());
  EXPECT_FALSE(loop.Check().ok());
}

TEST_F(LoadRunTest, GoesByWhatIsInTheFile) {
  const RecordedRun loop = LoopRun(3, 4);
  ASSERT_TRUE(SaveTrace(loop, path_, false).ok());
  auto run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 12u);

  ASSERT_TRUE(SaveOracleGeneral(ChunkedRun(&loop, 0, GiB(1)), path_, true).ok());
  run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->setting.source, "oracle-general");
  EXPECT_EQ(run->works.size(), 12u);

  Write(kPytorch);
  run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->setting.source, "pytorch-et");
  WritePacked(kPytorch);
  run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 1u);
  Write(std::string("\xef\xbb\xbf") + kPytorch);
  run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 1u);
}

TEST_F(LoadRunTest, WhatIsCutIsUsedAndSaid) {
  const std::string whole = kPytorch;
  Write(whole.substr(0, whole.rfind(']')));
  auto run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 1u);
  EXPECT_THAT(run->problems, ElementsAre(HasSubstr("list of nodes is cut short")));
  // In the middle of the next node.
  Write(whole.substr(0, whole.rfind(']')) + R"(, {"id": 9, "name": "aten::re)");
  run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 1u);
  EXPECT_THAT(run->problems, ElementsAre(HasSubstr("the 1 nodes before that are used")));
  WritePacked(whole);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  run = LoadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->works.size(), 1u);
  EXPECT_THAT(run->problems, Contains(HasSubstr("gzip data are cut short")));
}

TEST_F(LoadRunTest, WhatIsNoTraceIsSaidToBeNone) {
  const auto expect = [&](const char* what) {
    const Status status = LoadRun(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), HasSubstr(what)));
  };
  for (const char* bytes : {"", "hello", "a\0b"}) {
    Write(bytes);
    expect("not a vramspan trace");
  }
  Write("{\"a\": 1}");
  expect("not an execution trace of PyTorch");
  Write("{");
  expect("not JSON");
  Write("[]");
  expect("not an object");
  WritePacked(trace::PackHeader({}));
  expect("this is a vramspan trace that was packed again with gzip; unpack it first (gzip -dc)");
  std::string wide = "\xff\xfe";
  for (const char c : std::string(kPytorch)) (wide += c) += '\0';
  Write(wide);
  expect("text in UTF-16");
  Write(std::string("\xfd"
                    "7zXZ\0\0\x04",
                    8) +
        std::string(100, 'z'));
  expect("packed with xz");
  std::filesystem::remove(path_);
  EXPECT_EQ(LoadRun(path_).status().code(), absl::StatusCode::kNotFound);
}

// An imported run is as good as a recorded one: saved and loaded again it is the same.
TEST_F(LoadRunTest, AnImportedRunCanBeSaved) {
  const auto pytorch = std::filesystem::path(__FILE__).parent_path() /
                       "../../../shared/data/pytorch_execution_trace/resnet_et.json.gz";
  Write(kPytorch);
  const auto before = LoadRun(std::filesystem::exists(pytorch) ? pytorch.string() : path_);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(SaveTrace(*before, path_, true).ok());
  const auto after = LoadRun(path_);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->problems, before->problems);
  EXPECT_EQ(after->setting.source, before->setting.source);
  EXPECT_EQ(after->setting.estimated_times, true);
  EXPECT_EQ(after->PeakBytes(), before->PeakBytes());
  EXPECT_EQ(after->Duration(), before->Duration());
  ASSERT_EQ(after->allocations.size(), before->allocations.size());
  ASSERT_EQ(after->works.size(), before->works.size());
  for (size_t w = 0; w < before->works.size(); ++w) {
    const RecordedWork& a = before->works[w];
    const RecordedWork& b = after->works[w];
    ASSERT_EQ(before->codes[a.code].name, after->codes[b.code].name);
    ASSERT_EQ(a.start, b.start);
    const auto one = before->set(a.set);
    const auto two = after->set(b.set);
    ASSERT_EQ(one.size(), two.size());
    for (size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(before->allocations[one[i].allocation].base,
                after->allocations[two[i].allocation].base);
      ASSERT_EQ(one[i].offset, two[i].offset);
      ASSERT_EQ(one[i].size, two[i].size);
      ASSERT_EQ(one[i].write, two[i].write);
    }
  }
}

}  // namespace
}  // namespace vramspan::replay
