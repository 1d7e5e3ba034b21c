#include "tools/replay/import_pytorch.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/replay/chunked_run.h"
#include "tools/replay/pytorch_node.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tensor of floats, by elements.
json Tensor(uint64_t storage, uint64_t offset, uint64_t elements, const char* device = "cuda:0") {
  return {storage + 1000, storage, offset, elements, 4, device};
}

// A trace as the observer writes one. Ids are the caller's, as they tell the order.
class Trace {
 public:
  void Add(uint64_t id, uint64_t parent, const std::string& name, const std::vector<json>& inputs,
           const std::vector<json>& outputs, const std::string& schema = "") {
    nodes_.push_back(
        {{"id", id},
         {"name", name},
         {"ctrl_deps", parent},
         {"inputs", Side(inputs)},
         {"outputs", Side(outputs)},
         {"attrs", json::array({{{"name", "rf_id"}, {"type", "uint64"}, {"value", id}},
                                {{"name", "op_schema"}, {"type", "string"}, {"value", schema}}})}});
  }
  json& last() { return nodes_.back(); }
  std::string text() const {
    return json({{"schema", "1.1.0-chakra.0.0.4"}, {"pid", 1}, {"nodes", nodes_}}).dump();
  }

 private:
  static json Side(const std::vector<json>& values) {
    json types = json::array();
    json shapes = json::array();
    for (const json& value : values) {
      const bool tensor = value.is_array() && value.size() == 6;
      types.push_back(tensor ? "Tensor(float)" : value.is_array() ? "GenericList[Tensor]" : "Int");
      shapes.push_back(tensor ? json::array({value[3]}) : json::array());
    }
    return {{"values", values}, {"shapes", shapes}, {"types", types}};
  }
  json nodes_ = json::array();
};

class ImportPytorchTest : public ::testing::Test {
 protected:
  ImportPytorchTest() {
    folder_ = ::testing::TempDir() + "import_pytorch_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~ImportPytorchTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }
  PytorchImport Import(const Trace& trace, const std::string& profile = "") const {
    const std::string p = profile.empty() ? "" : Write("profile.json", profile);
    auto import = ImportPytorch(Write("et.json", trace.text()), p);
    EXPECT_TRUE(import.ok()) << import.status();
    if (!import.ok()) return {};
    EXPECT_TRUE(import->run.Check().ok()) << import->run.Check();
    const PytorchSummary& s = import->summary;
    EXPECT_EQ(s.nodes, s.works + s.views + s.parents + s.elsewhere);
    EXPECT_EQ(s.allocations, import->run.allocations.size());
    return *std::move(import);
  }
  Status Error(const std::string& text, const std::string& profile = "") const {
    return ImportPytorch(Write("et.json", text), profile).status();
  }

  std::string folder_;
};

// "+3" and "-3": an allocation comes and goes; "name 1r:0+8 2w:4+4": work with its ranges.
std::vector<std::string> Steps(const RecordedRun& run) {
  std::vector<std::string> steps;
  for (const RecordedStep& step : run.steps) {
    if (step.kind != RecordedStep::Kind::kWork) {
      steps.push_back(
          absl::StrCat(step.kind == RecordedStep::Kind::kAllocate ? "+" : "-", step.index));
      continue;
    }
    const RecordedWork& work = run.works[step.index];
    std::string text = run.codes[work.code].name;
    for (const RecordedRange& r : run.set(work.set)) {
      absl::StrAppend(&text, " ", r.allocation, r.write ? "w:" : "r:", r.offset, "+", r.size);
    }
    steps.push_back(text);
  }
  return steps;
}

TEST_F(ImportPytorchTest, OperatorsBecomeWork) {
  Trace trace;
  trace.Add(1, 0, "[pytorch|profiler|execution_trace|process]", {}, {});
  // Two weights in one storage. Offsets are in elements.
  trace.Add(10, 0, "aten::linear", {Tensor(5, 0, 100), Tensor(7, 200, 50)}, {Tensor(9, 0, 100)},
            "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor");
  trace.Add(11, 10, "aten::t", {Tensor(7, 200, 50)}, {Tensor(7, 200, 50)},
            "aten::t(Tensor(a) self) -> Tensor(a)");
  trace.Add(12, 10, "aten::mm", {Tensor(5, 0, 100), Tensor(7, 200, 50)}, {Tensor(9, 0, 100)},
            "aten::mm(Tensor self, Tensor mat2) -> Tensor");
  trace.Add(20, 0, "aten::add_", {Tensor(9, 10, 20), Tensor(7, 0, 20), json(1)},
            {Tensor(9, 10, 20)},
            "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  trace.Add(30, 0, "aten::_foreach_mul_",
            {json::array({Tensor(9, 0, 4), Tensor(7, 4, 4)}), Tensor(5, 0, 1)}, {},
            "aten::_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()");
  const PytorchImport import = Import(trace);
  EXPECT_THAT(Steps(import.run), ElementsAre("+0", "+1",                                     //
                                             "+2", "aten::mm 0r:0+400 1r:800+200 2w:0+400",  //
                                             "aten::add_ 2w:40+80 1r:0+80",                  //
                                             "aten::_foreach_mul_ 2w:0+16 1w:16+16 0r:0+4",  //
                                             "-0", "-1", "-2"));
  EXPECT_EQ(import.run.allocations[0].size, Bytes(400));
  EXPECT_EQ(import.run.allocations[1].size, Bytes(1000));
  EXPECT_EQ(import.summary.works, 3u);
  EXPECT_EQ(import.summary.parents, 1u);
  EXPECT_EQ(import.summary.views, 1u);
  EXPECT_EQ(import.summary.elsewhere, 1u);
  EXPECT_EQ(import.summary.storages, 3u);
  EXPECT_EQ(import.summary.there_before, 2u);
  EXPECT_EQ(import.summary.peak_live, Bytes(1800));
  EXPECT_EQ(import.summary.allocated, Bytes(1800));
  EXPECT_THAT(import.run.problems, IsEmpty());
  EXPECT_EQ(import.run.setting.source, "pytorch-et");
}

TEST_F(ImportPytorchTest, AnIdStandsForOneMemoryAfterAnother) {
  Trace trace;
  const std::string relu = "aten::relu(Tensor self) -> Tensor";
  const std::string empty = "aten::empty.memory_format(SymInt[] size) -> Tensor";
  trace.Add(1, 0, "aten::relu", {Tensor(50, 0, 10)}, {Tensor(60, 0, 10)}, relu);
  trace.Add(2, 0, "aten::relu", {Tensor(60, 0, 10)}, {Tensor(70, 0, 10)}, relu);
  // The memory of 60 was freed and is used again, for something larger: made within the operator,
  // before its kernel.
  trace.Add(3, 0, "aten::cudnn_batch_norm", {Tensor(70, 0, 10)}, {Tensor(60, 0, 30)},
            "aten::cudnn_batch_norm(Tensor input) -> Tensor");
  trace.Add(4, 3, "aten::empty", {json(30)}, {Tensor(60, 0, 30)}, empty);
  // And once more, without a call that makes it.
  trace.Add(6, 0, "aten::relu", {Tensor(70, 0, 10)}, {Tensor(60, 0, 20)}, relu);
  const PytorchImport import = Import(trace);
  EXPECT_THAT(Steps(import.run),
              ElementsAre("+0", "+1", "aten::relu 0r:0+40 1w:0+40",               //
                          "-0", "+2", "aten::relu 1r:0+40 2w:0+40",               //
                          "-1", "+3", "aten::cudnn_batch_norm 2r:0+40 3w:0+120",  //
                          "-3", "+4", "aten::relu 2r:0+40 4w:0+80", "-2", "-4"));
  EXPECT_EQ(import.summary.storages, 3u);
  EXPECT_EQ(import.summary.allocations, 5u);
  EXPECT_EQ(import.summary.peak_live, Bytes(160));
  EXPECT_EQ(import.run.allocations[3].name, "storage 60 of aten::empty");
}

TEST_F(ImportPytorchTest, WhatTouchesNoMemoryOfTheGpuIsNoWork) {
  Trace trace;
  trace.Add(1, 0, "aten::add", {Tensor(5, 0, 10, "cpu")}, {Tensor(6, 0, 10, "cpu")},
            "aten::add(Tensor self) -> Tensor");
  trace.Add(2, 0, "aten::empty", {}, {Tensor(7, 0, 10)}, "aten::empty(SymInt[] size) -> Tensor");
  trace.Add(3, 0, "aten::to", {Tensor(7, 0, 10)}, {Tensor(7, 0, 10)},
            "aten::to.dtype(Tensor(a) self) -> Tensor(a)");
  trace.Add(4, 0, "AddBackward0", {Tensor(7, 0, 10)}, {Tensor(7, 0, 10)});
  trace.Add(5, 0, "aten::split", {Tensor(7, 0, 10)},
            {json::array({Tensor(7, 0, 5), Tensor(7, 5, 5)})},
            "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size) -> Tensor(a)[]");
  trace.Add(6, 0, "aten::empty", {}, {Tensor(8, 0, 0)}, "aten::empty(SymInt[] size) -> Tensor");
  // A copy from the host touches what it writes.
  trace.Add(7, 0, "aten::copy_", {Tensor(7, 0, 10), Tensor(5, 0, 10, "cpu")}, {Tensor(7, 0, 10)},
            "aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)");
  const PytorchImport import = Import(trace);
  EXPECT_THAT(Steps(import.run), ElementsAre("+0", "aten::copy_ 0w:0+40", "-0"));
  EXPECT_TRUE(import.run.set(import.run.works[0].set)[0].exact);
  EXPECT_EQ(import.summary.views, 4u);
  EXPECT_EQ(import.summary.elsewhere, 2u);
}

TEST_F(ImportPytorchTest, CollectivesAndTritonAreWork) {
  Trace trace;
  trace.Add(1, 0, "record_param_comms", {json::array({Tensor(5, 0, 10)})},
            {json::array({Tensor(5, 0, 10)})});
  trace.Add(2, 0, "nccl:all_reduce", {json::array({Tensor(5, 0, 10)})},
            {json::array({Tensor(5, 0, 10)})});
  trace.Add(3, 0, "triton_poi_fused_add_0", {Tensor(5, 0, 10), Tensor(6, 0, 10)}, {});
  trace.last()["attrs"].push_back(
      {{"name", "kernel_backend"}, {"type", "string"}, {"value", "triton"}});
  EXPECT_THAT(Steps(Import(trace).run),
              ElementsAre("+0", "+1", "nccl:all_reduce 0w:0+40",
                          "triton_poi_fused_add_0 0r:0+40 1r:0+40", "-0", "-1"));
}

TEST_F(ImportPytorchTest, StridesTellWhereATensorEnds) {
  Trace trace;
  // An expanded row of 10, and every second of 20.
  trace.Add(1, 0, "aten::sum", {Tensor(5, 0, 1000), Tensor(6, 1, 10)}, {Tensor(7, 0, 1)},
            "aten::sum(Tensor self, Tensor other) -> Tensor");
  trace.last()["inputs"]["shapes"] = {{100, 10}, {10}};
  trace.last()["inputs"]["strides"] = {{0, 1}, {2}};
  const PytorchImport import = Import(trace);
  EXPECT_THAT(Steps(import.run),
              ElementsAre("+0", "+1", "+2", "aten::sum 0r:0+40 1r:4+76 2w:0+4", "-0", "-1", "-2"));
}

TEST_F(ImportPytorchTest, WhatWasSeenMadeIsNoLargerThanThat) {
  Trace trace;
  trace.Add(1, 0, "aten::empty", {}, {Tensor(5, 0, 10)}, "aten::empty(SymInt[] size) -> Tensor");
  // Expanded, by a version that tells no strides.
  trace.Add(2, 0, "aten::sum", {Tensor(5, 2, 1000)}, {Tensor(6, 0, 1)},
            "aten::sum(Tensor self) -> Tensor");
  EXPECT_THAT(Steps(Import(trace).run),
              ElementsAre("+0", "+1", "aten::sum 0r:8+32 1w:0+4", "-0", "-1"));
}

TEST_F(ImportPytorchTest, WhatIsWorkIsFoundHoweverDeep) {
  Trace trace;
  const std::string add = "aten::add(Tensor self) -> Tensor";
  trace.Add(1, 0, "aten::outer", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)}, add);
  trace.Add(2, 1, "wrapper", {}, {});
  trace.Add(3, 2, "aten::inner", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)}, add);
  trace.Add(4, 3, "aten::view", {Tensor(6, 0, 8)}, {Tensor(6, 0, 8)},
            "aten::view(Tensor(a) self) -> Tensor(a)");
  EXPECT_THAT(Steps(Import(trace).run),
              ElementsAre("+0", "+1", "aten::inner 0r:0+32 1w:0+32", "-0", "-1"));
}

TEST_F(ImportPytorchTest, TheGpuWithMostTensors) {
  Trace trace;
  const std::string add = "aten::add(Tensor self, Tensor other) -> Tensor";
  trace.Add(1, 0, "aten::add", {Tensor(5, 0, 8, "cuda:1"), Tensor(6, 0, 8, "cuda:0")},
            {Tensor(7, 0, 8, "cuda:1")}, add);
  trace.Add(2, 0, "aten::add", {Tensor(6, 0, 8, "cuda:0")}, {Tensor(6, 0, 8, "cuda:0")}, add);
  trace.Add(3, 0, "aten::add", {Tensor(5, 0, 8, "cuda:1")}, {Tensor(5, 0, 8, "cuda:1")}, add);
  const PytorchImport import = Import(trace);
  EXPECT_EQ(import.summary.device, 1u);
  EXPECT_EQ(import.summary.works, 2u);
  EXPECT_THAT(import.run.notes, ElementsAre(HasSubstr("3 mentions of tensors were left out")));
}

TEST_F(ImportPytorchTest, EstimatesTimes) {
  Trace trace;
  const std::string add = "aten::add(Tensor self, Tensor other) -> Tensor";
  const uint64_t elements = 250'000'000;
  trace.Add(1, 0, "aten::add", {Tensor(5, 0, elements)}, {Tensor(6, 0, elements)}, add);
  trace.Add(2, 0, "aten::add", {Tensor(5, 0, 1)}, {Tensor(6, 0, 1)}, add);
  trace.Add(3, 0, "aten::mm", {Tensor(5, 0, 1'000'000), Tensor(6, 0, 1'000'000)},
            {Tensor(7, 0, 1'000'000)}, "aten::mm(Tensor self, Tensor mat2) -> Tensor");
  trace.last()["inputs"]["shapes"] = {{1000, 1000}, {1000, 1000}};
  trace.last()["outputs"]["shapes"] = json::array({{1000, 1000}});
  const RecordedRun run = Import(trace).run;
  ASSERT_EQ(run.works.size(), 3u);
  EXPECT_TRUE(run.setting.estimated_times);
  const auto time = [&](size_t w) { return run.works[w].end - run.works[w].start; };
  EXPECT_EQ(time(0), 800'000u);  // 2 GB at 2.5 TB/s.
  EXPECT_EQ(time(1), 2'000u);
  EXPECT_EQ(time(2), 20'000u);  // 2 GFLOP at 100 TFLOP/s.
  EXPECT_EQ(run.works[0].submitted, 0u);
  EXPECT_EQ(run.works[1].submitted, 8'000u);
  EXPECT_EQ(run.works[0].start, 4'000u);
  EXPECT_EQ(run.works[1].start, run.works[0].end);
}

json Kernel(uint64_t external, double ts, double duration, uint64_t stream, uint64_t correlation) {
  return {{"ph", "X"},
          {"cat", "kernel"},
          {"name", "k"},
          {"ts", ts},
          {"dur", duration},
          {"args", {{"External id", external}, {"stream", stream}, {"correlation", correlation}}}};
}
json Call(uint64_t external, uint64_t function) {
  return {{"ph", "X"},
          {"cat", "cpu_op"},
          {"ts", 1},
          {"dur", 1},
          {"args", {{"External id", external}, {"Record function id", function}}}};
}
json Launch(uint64_t correlation, double ts) {
  return {{"ph", "X"},
          {"cat", "cuda_runtime"},
          {"ts", ts},
          {"dur", 1},
          {"args", {{"correlation", correlation}}}};
}
std::string Profile(const std::vector<json>& events) {
  return json({{"schemaVersion", 1}, {"traceEvents", events}}).dump();
}

TEST_F(ImportPytorchTest, TakesTimesFromAProfile) {
  Trace trace;
  const std::string add = "aten::add(Tensor self, Tensor other) -> Tensor";
  trace.Add(10, 0, "aten::add", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)}, add);
  trace.Add(11, 0, "aten::outer", {Tensor(5, 0, 8)}, {Tensor(7, 0, 8)}, add);
  trace.Add(12, 11, "aten::add", {Tensor(5, 0, 8)}, {Tensor(7, 0, 8)}, add);
  trace.Add(13, 0, "aten::never_on_the_gpu", {Tensor(5, 0, 8)}, {Tensor(7, 0, 8)}, add);
  const std::string profile = Profile({
      Call(110, 10),
      Call(111, 11),
      Call(112, 12),
      Call(199, 77),
      Kernel(110, 1000.5, 10.25, 7, 1),
      Kernel(110, 1020, 5, 7, 2),  // Two kernels, a gap between.
      Kernel(112, 1100, 3, 20, 3),
      Kernel(111, 1200, 4, 7, 4),  // What calls others may have one of its own.
      Kernel(199, 1300, 4, 7, 5),  // Of an operator that the trace has not.
      Kernel(555, 1300, 4, 7, 6),  // Of none.
      Launch(1, 990),
      Launch(2, 995),
      Launch(3, 996),
      Launch(4, 997),
  });
  const PytorchImport import = Import(trace, profile);
  const RecordedRun& run = import.run;
  ASSERT_EQ(run.works.size(), 3u);
  EXPECT_FALSE(run.setting.estimated_times);
  EXPECT_EQ(import.summary.timed, 3u);
  EXPECT_EQ(run.works[0].submitted, 0u);
  EXPECT_EQ(run.works[0].start, 10'500u);
  EXPECT_EQ(run.works[0].end, 10'500u + 15'250);
  EXPECT_EQ(run.works[1].submitted, 6'000u);
  EXPECT_EQ(run.works[1].start, 110'000u);
  EXPECT_EQ(run.codes[run.works[2].code].name, "aten::outer");
  EXPECT_EQ(run.works[0].stream, 0u);
  EXPECT_EQ(run.works[1].stream, 1u);
  EXPECT_EQ(run.works[2].stream, 0u);
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("1 of 4 operators of the profile"),
                                     HasSubstr("1 of 6 kernels of the profile")));
}

TEST_F(ImportPytorchTest, SubmissionsKeepTheOrderOfTheTrace) {
  Trace trace;
  const std::string add = "aten::add(Tensor self, Tensor other) -> Tensor";
  for (const uint64_t id : {10, 11}) {
    trace.Add(id, 0, "aten::add", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)}, add);
  }
  const RecordedRun run =
      Import(trace, Profile({Call(1, 10), Call(2, 11), Kernel(1, 50, 2, 7, 1),
                             Kernel(2, 45, 2, 9, 2), Launch(1, 30), Launch(2, 20)}))
          .run;
  EXPECT_EQ(run.works[0].submitted, 0u);
  EXPECT_EQ(run.works[1].submitted, 0u);
  EXPECT_EQ(run.works[1].start, 15'000u);
}

TEST_F(ImportPytorchTest, SaysWhatIsWrong) {
  const auto expect = [](const Status& status, absl::StatusCode code, const std::string& what) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  };
  constexpr auto kBad = absl::StatusCode::kFailedPrecondition;
  expect(Error("{}"), kBad, "et.json: this is not an execution trace of PyTorch");
  expect(Error(R"({"nodes": []})"), kBad, "not an execution trace");
  expect(Error(R"({"schemaVersion": 1, "traceEvents": []})"), kBad, "as --profile");
  expect(Error("hello"), kBad, "not JSON");
  expect(ImportPytorch(folder_ + "/none").status(), absl::StatusCode::kNotFound, "none");

  Trace trace;
  trace.Add(1, 0, "aten::add", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)},
            "aten::add(Tensor self) -> Tensor");
  const auto with_profile = [&](const std::string& profile) {
    return Error(trace.text(), Write("p.json", profile));
  };
  expect(with_profile("{}"), kBad, "p.json: this is not a profile");
  expect(with_profile(Profile({Call(1, 1)})), kBad, "has no kernels");
  expect(with_profile(Profile({Kernel(1, 1, 1, 1, 1)})), kBad, "Record function id");
  expect(with_profile(Profile({Call(1, 9), Kernel(1, 1, 1, 1, 1)})),
         absl::StatusCode::kFailedPrecondition, "of another run");
}

TEST_F(ImportPytorchTest, UsesWhatIsGood) {
  Trace trace;
  const std::string add = "aten::add(Tensor self) -> Tensor";
  trace.Add(1, 0, "aten::add", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)}, add);
  trace.Add(1, 0, "aten::add", {Tensor(5, 0, 8)}, {Tensor(6, 0, 8)}, add);
  trace.Add(2, 0, "aten::add", {Tensor(5, UINT64_MAX, 8), Tensor(5, 0, UINT64_MAX / 2)},
            {Tensor(6, 0, 8)}, add);
  trace.Add(3, 99, "aten::add", {json::array({json::array({1, 2}), "x"}), Tensor(5, 0, 2)},
            {json(), json("cuda:0")}, add);
  json text = json::parse(trace.text());
  text["nodes"].push_back(7);
  text["nodes"].push_back({{"id", -1}, {"name", "x"}});
  text["nodes"].push_back({{"id", 8}, {"name", "y"}, {"inputs", 3}, {"attrs", 4}});
  const auto import = ImportPytorch(Write("et.json", text.dump()));
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_TRUE(import->run.Check().ok());
  EXPECT_EQ(import->run.works.size(), 3u);
  EXPECT_THAT(import->run.problems, ElementsAre(HasSubstr("3 nodes were left out"),
                                                HasSubstr("2 tensors were left out")));
  // Nothing holds so much.
  Trace large;
  for (uint64_t i = 0; i < 6; ++i) {
    large.Add(i + 1, 0, "aten::add", {Tensor(5 + i, 0, uint64_t{1} << 43)}, {}, add);
  }
  EXPECT_EQ(Error(large.text()).code(), absl::StatusCode::kResourceExhausted);
}

TEST(PytorchNode, OlderTracesHaveTheirSidesApart) {
  const auto node = ParsePytorchNode(json::parse(R"json({
    "name": "aten::mul_", "id": 9, "rf_id": 4, "parent": 2,
    "op_schema": "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "inputs": [[3, 4, 2, 5, 2, "cuda:3"], 2.0], "input_shapes": [[5], []],
    "input_types": ["Tensor(c10::Half)", "Double"],
    "outputs": [[3, 4, 2, 5, 2, "cuda:3"]], "output_shapes": [[5]],
    "output_types": ["Tensor(c10::Half)"]})json"));
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->id, 9u);
  EXPECT_EQ(node->parent, 2u);
  EXPECT_EQ(node->rf_id, 4u);
  EXPECT_EQ(node->kind, PytorchNode::Kind::kOther);
  ASSERT_EQ(node->tensors.size(), 2u);
  EXPECT_EQ(node->tensors[0].offset, 4u);
  EXPECT_EQ(node->tensors[0].size, 10u);
  EXPECT_EQ(node->tensors[0].device, 3u);
  EXPECT_TRUE(node->tensors[0].written);
}

TEST(PytorchNode, TheSchemaSaysWhatIsChanged) {
  json node = {{"id", 1u}, {"name", "aten::add"}};
  node["op_schema"] =
      "aten::add.out(Tensor self, int[2] dims=[0, 1], *, Scalar alpha=1, Tensor(a!) out) -> "
      "Tensor(a!)";
  node["inputs"] = json::array({Tensor(1, 0, 4), json::array({0, 1}), 1, Tensor(2, 0, 4)});
  node["input_types"] = {"Tensor(float)", "GenericList[Int,Int]", "Int", "Tensor(float)"};
  const auto parsed = ParsePytorchNode(node);
  ASSERT_EQ(parsed->tensors.size(), 2u);
  EXPECT_FALSE(parsed->tensors[0].written);
  EXPECT_TRUE(parsed->tensors[1].written);
  EXPECT_EQ(parsed->kind, PytorchNode::Kind::kOther);
}

TEST(PytorchNode, CountsWhatIsMultiplied) {
  const auto flops = [](const char* name, const json& in, const json& out) {
    json node = {{"id", 1u}, {"name", name}};
    for (const auto& [side, shapes] : {std::pair("inputs", in), std::pair("outputs", out)}) {
      json values = json::array();
      for (size_t i = 0; i < shapes.size(); ++i) values.push_back(Tensor(1, 0, 1));
      node[side] = {{"values", values}, {"shapes", shapes}};
    }
    return ParsePytorchNode(node)->flops;
  };
  EXPECT_EQ(flops("aten::mm", {{2, 3}, {3, 5}}, {{2, 5}}), 2 * 2 * 3 * 5);
  EXPECT_EQ(flops("aten::addmm", {{5}, {2, 3}, {3, 5}}, {{2, 5}}), 2 * 2 * 3 * 5);
  EXPECT_EQ(flops("aten::bmm", {{4, 2, 3}, {4, 3, 5}}, {{4, 2, 5}}), 2 * 4 * 2 * 3 * 5);
  EXPECT_EQ(flops("aten::cudnn_convolution", {{1, 3, 8, 8}, {16, 3, 3, 3}}, {{1, 16, 6, 6}}),
            2 * 16 * 36 * 27);
  EXPECT_EQ(flops("aten::convolution_backward", {{1, 16, 6, 6}, {1, 3, 8, 8}, {16, 3, 3, 3}},
                  {{1, 3, 8, 8}}),
            4 * 16 * 36 * 27);
  EXPECT_EQ(flops("aten::_scaled_dot_product_flash_attention",
                  {{2, 4, 10, 8}, {2, 4, 20, 8}, {2, 4, 20, 8}}, {{2, 4, 10, 8}}),
            4 * 2 * 4 * 10 * 20 * 8);
  EXPECT_EQ(flops("aten::mul", {{2, 3}, {2, 3}}, {{2, 3}}), 0);
}

// A training step of ResNet-50 that PyTorch itself recorded, where it is at hand.
TEST(ImportPytorch, ReadsARealTrace) {
  const auto path = std::filesystem::path(__FILE__).parent_path() /
                    "../../../shared/data/pytorch_execution_trace/resnet_et.json.gz";
  if (!std::filesystem::exists(path)) return;
  const auto import = ImportPytorch(path.string());
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_TRUE(import->run.Check().ok()) << import->run.Check();
  const PytorchSummary& s = import->summary;
  EXPECT_EQ(s.nodes, 14392u);
  EXPECT_EQ(s.nodes, s.works + s.views + s.parents + s.elsewhere);
  // 53 convolutions, three times, forward and backward.
  uint64_t convolutions = 0;
  Bytes before;
  for (const RecordedWork& work : import->run.works) {
    const std::string& name = import->run.codes[work.code].name;
    convolutions += name == "aten::cudnn_convolution" || name == "aten::convolution_backward";
  }
  for (const RecordedAllocation& a : import->run.allocations) {
    if (a.allocated == 0) before += a.size;
  }
  EXPECT_EQ(convolutions, 3u * 2 * 53);
  // 25.6 million weights, their gradients and momenta, and images for the three steps.
  EXPECT_NEAR(static_cast<double>(before.value), 3 * 25.6e6 * 4, 0.07 * 3 * 25.6e6 * 4);
  EXPECT_GT(s.peak_live, GiB(2));
  EXPECT_LT(s.peak_live, GiB(4));
  EXPECT_GE(import->run.PeakBytes(), s.peak_live);
  Bytes sum;
  for (const RecordedAllocation& a : import->run.allocations) sum += a.size;
  EXPECT_EQ(sum, s.allocated);
  const ChunkedRun chunked(&import->run, 0, GiB(4));
  EXPECT_GT(chunked.end(), 1000u);
}

// The one that is shipped: bench/programs/execution_trace.py, 4 layers of width 512.
TEST(ImportPytorch, ReadsTheTraceThatIsShipped) {
  const std::string step = VRAMSPAN_TRACES "/training-step";
  const auto import = ImportPytorch(step + ".et.json.gz", step + ".profile.json.gz");
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_TRUE(import->run.Check().ok()) << import->run.Check();
  const PytorchSummary& s = import->summary;
  EXPECT_EQ(s.nodes, 2792u);
  EXPECT_EQ(s.nodes, s.works + s.views + s.parents + s.elsewhere);
  EXPECT_EQ(import->run.works.size(), s.works);
  // Six products a layer and the last one, forward, and two for each of them backward.
  uint64_t products = 0;
  for (const RecordedWork& work : import->run.works) {
    const std::string& name = import->run.codes[work.code].name;
    products += name == "aten::mm" || name == "aten::addmm";
  }
  EXPECT_EQ(products, 3u * (4 * 4 + 1));
  // 21.0 million parameters and their two moments, and what the step only filled: this trace names
  // no empty tensors.
  Bytes before, sum;
  for (const RecordedAllocation& a : import->run.allocations) {
    sum += a.size;
    if (a.allocated == 0) before += a.size;
  }
  EXPECT_GT(static_cast<double>(before.value), 3 * 21.0e6 * 4);
  EXPECT_EQ(sum, s.allocated);
  EXPECT_GT(s.peak_live, before);
  EXPECT_LT(s.peak_live, MiB(518)) << "what PyTorch had reserved";
}

}  // namespace
}  // namespace vramspan::replay
