// `vramspan trace import`, `export` and `curves` as a user runs them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_binary.h"
#include "tests/trace/sample.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two layers of 4 MiB, forwards twice.
constexpr char kPytorch[] = R"json({"schema": "1.1.1-chakra.0.0.4", "nodes": [
  {"id": 2, "name": "aten::linear", "ctrl_deps": 1,
   "inputs": {"values": [[20, 21, 0, 1048576, 4, "cuda:0"]], "types": ["Tensor(float)"]},
   "outputs": {"values": [[30, 31, 0, 1048576, 4, "cuda:0"]], "types": ["Tensor(float)"]},
   "attrs": [{"name": "op_schema", "value": "aten::linear(Tensor self) -> Tensor"}]},
  {"id": 3, "name": "aten::linear", "ctrl_deps": 1,
   "inputs": {"values": [[40, 41, 0, 1048576, 4, "cuda:0"], [30, 31, 0, 1048576, 4, "cuda:0"]],
              "types": ["Tensor(float)", "Tensor(float)"]},
   "outputs": {"values": [], "types": []},
   "attrs": [{"name": "op_schema", "value": "aten::linear(Tensor self, Tensor b) -> ()"}]},
  {"id": 4, "name": "aten::linear", "ctrl_deps": 1,
   "inputs": {"values": [[20, 21, 0, 1048576, 4, "cuda:0"]], "types": ["Tensor(float)"]},
   "outputs": {"values": [], "types": []},
   "attrs": [{"name": "op_schema", "value": "aten::linear(Tensor self) -> ()"}]}]})json";

class TraceConvert : public ::testing::Test {
 protected:
  TraceConvert() { std::ofstream(et_) << kPytorch; }
  Output Trace(const std::string& arguments) { return RunBinary("", "trace " + arguments); }

  trace::TestFolder folder_;
  const std::string et_ = folder_.File("et.json");
  const std::string out_ = folder_.File("out.vramspan");
};

TEST_F(TraceConvert, ImportsPytorchAndReplaysIt) {
  const Output import = Trace("import --pytorch-et " + et_ + " -o " + out_);
  EXPECT_EQ(import.code, 0) << import.err;
  EXPECT_THAT(import.out, AllOf(StartsWith("nodes            3\n"),
                                HasSubstr("peak          12.0 MiB"), HasSubstr("estimated")));
  const auto info = nlohmann::json::parse(Trace("info --format json " + out_).out);
  EXPECT_EQ(info["works"], 3);
  EXPECT_EQ(info["peak_bytes"], 12 << 20);
  for (const std::string& trace : {et_, out_}) {
    const Output replay = RunBinary("",
                                    "replay --format json --device-memory 8MiB --chunk 2MiB "
                                    "--policy lru " +
                                        trace);
    EXPECT_EQ(replay.code, 0) << replay.err;
    EXPECT_EQ(nlohmann::json::parse(replay.out)["trace"]["works"], 3) << replay.out;
  }
}

TEST_F(TraceConvert, GoesToLibCacheSimAndBack) {
  const std::string oracle = folder_.File("t.oracleGeneral");
  EXPECT_EQ(Trace("export " + et_ + " --chunk 4MiB --oracle-general " + oracle).code, 0);
  EXPECT_EQ(std::filesystem::file_size(oracle), 5 * 24u);
  const Output import = Trace("import --oracle-general " + oracle + " -o " + out_);
  EXPECT_EQ(import.code, 0) << import.err;
  EXPECT_EQ(import.out, "requests        5\nobjects         3  of 12.0 MiB together\n");
  // What they do not tell of is left out.
  EXPECT_THAT(Trace("info " + out_).out, HasSubstr("\ndevice         (unknown)\ntime "));
  const std::string arguments = "curves --policy lru,min --points 3 --chunk 4MiB --format csv ";
  for (const std::string& trace : {et_, out_}) {
    const Output curves = Trace(arguments + trace);
    EXPECT_EQ(curves.code, 0) << curves.err;
    // The second use of 31 and of 21: room for one chunk, for two, for three.
    EXPECT_THAT(curves.out, AllOf(HasSubstr(",lru,4194304,5,12582912,0,0,4194304,2,0.4\n"),
                                  HasSubstr(",lru,4194304,5,12582912,0,0,12582912,0,0\n"),
                                  HasSubstr(",min,4194304,5,12582912,0,0,4194304,1,0.2\n")));
  }
}

// As a program leaves it that was killed: what is there is used, and the exit code says that it is
// not all.
TEST_F(TraceConvert, OfACutTraceWhatIsThereIsUsed) {
  const std::string whole = kPytorch;
  std::ofstream(et_) << whole.substr(0, whole.find("{\"id\": 4") + 50);
  const Output import = Trace("import --pytorch-et " + et_ + " -o " + out_);
  EXPECT_EQ(import.code, 1);
  EXPECT_THAT(import.out, StartsWith("nodes            2\n"));
  EXPECT_THAT(import.err, AllOf(HasSubstr(et_ + ": its list of nodes is cut short"),
                                HasSubstr("what could be read was used")));
  const auto info = nlohmann::json::parse(Trace("info --format json " + out_).out);
  EXPECT_EQ(info["works"], 2);
  const Output replay = RunBinary("", "replay --policy lru " + et_);
  EXPECT_EQ(replay.code, 1);
  EXPECT_THAT(replay.out, HasSubstr("2 pieces of work"));
  EXPECT_THAT(replay.err, HasSubstr("cut short"));
}

TEST_F(TraceConvert, CurvesAsTableAndJson) {
  const Output table = Trace("curves --points 2 --chunk 2MiB,4MiB --policy lru " + et_);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(StartsWith("2048.0 KiB chunks: 10 accesses, 12.0 MiB\n"),
                               HasSubstr("4096.0 KiB chunks: 5 accesses, 12.0 MiB\n")));
  const auto json =
      nlohmann::json::parse(Trace("curves --points 2 --format json --policy min " + et_).out);
  ASSERT_EQ(json["curves"].size(), 1u);
  EXPECT_EQ(json["curves"][0]["policy"], "min");
  EXPECT_EQ(json["curves"][0]["points"].size(), 2u);
}

TEST_F(TraceConvert, ExportsForPerfetto) {
  const std::string file = folder_.File("t.pftrace");
  EXPECT_EQ(Trace("export " + et_ + " --perfetto " + file).code, 0);
  EXPECT_GT(std::filesystem::file_size(file), 100u);
}

TEST_F(TraceConvert, ReplacesNothingUnasked) {
  for (const std::string& file : {out_, folder_.File("p"), folder_.File("o")}) {
    std::ofstream(file) << "mine";
  }
  const std::string commands[] = {"import --pytorch-et " + et_ + " -o " + out_,
                                  "export " + et_ + " --perfetto " + folder_.File("p"),
                                  "export " + et_ + " --oracle-general " + folder_.File("o")};
  for (const std::string& command : commands) {
    const Output output = Trace(command);
    EXPECT_EQ(output.code, 1) << command;
    EXPECT_THAT(output.err, HasSubstr("the file exists; --force replaces it"));
    EXPECT_EQ(Trace(command + " --force").code, 0) << command;
  }
}

TEST_F(TraceConvert, ForcedItStillLeavesWhatItReads) {
  const std::string before = ReadText(et_);
  const std::string same = folder_.File("./et.json");
  const std::string commands[] = {"import --pytorch-et " + et_ + " -o " + same,
                                  "import --pytorch-et x --profile " + et_ + " -o " + same,
                                  "export " + et_ + " --perfetto " + same,
                                  "export " + et_ + " --oracle-general " + same};
  for (const std::string& command : commands) {
    const Output output = Trace(command + " --force");
    EXPECT_EQ(output.code, 1) << command;
    EXPECT_THAT(output.err, HasSubstr("et.json: the file is also what is read;")) << command;
  }
  EXPECT_EQ(ReadText(et_), before);
  const Output twice = Trace("export " + et_ + " --perfetto " + out_ + " --oracle-general " + out_);
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.err, HasSubstr("the file is also what --perfetto writes;"));
}

TEST_F(TraceConvert, SaysWhatIsWrong) {
  const auto expect = [&](const std::string& arguments, int code, const std::string& what) {
    const Output output = Trace(arguments);
    EXPECT_EQ(output.code, code) << arguments;
    EXPECT_THAT(output.err, HasSubstr(what)) << arguments;
  };
  const std::string text = folder_.File("text");
  std::ofstream(text) << "hello";
  expect("import -o " + out_, 2, "--pytorch-et or --oracle-general");
  expect("import --pytorch-et " + et_, 2, "--output");
  expect("import --pytorch-et " + et_ + " --oracle-general x -o " + out_, 2, "excludes");
  expect("import --profile x -o " + out_, 2, "requires --pytorch-et");
  expect("import --pytorch-et " + text + " -o " + out_, 1, text);
  expect("import --oracle-general " + text + " -o " + out_, 1, text);
  expect("import --pytorch-et " + et_ + " --profile " + et_ + " -o " + out_, 1, "not a profile");
  expect("export " + et_, 2, "--perfetto or --oracle-general");
  expect("export " + et_ + " --perfetto x --chunk 2MiB,4MiB", 2, "--chunk");
  expect("export " + text + " --perfetto x", 1, text);
  expect("curves " + et_ + " --policy mru", 2, "mru");
  expect("curves " + text, 1, text);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace vramspan
