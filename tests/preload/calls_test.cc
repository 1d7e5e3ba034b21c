// Every call that submits work, or says what work goes by, is told of: each is made once, and the
// trace says what the runtime heard of it.
#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "tests/preload/run_program.h"
#include "tests/trace/sample.h"
#include "tools/replay/load_trace.h"

namespace vramspan_test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace vramspan;          // NOLINT
using namespace vramspan::replay;  // NOLINT

// Of allocations, by program_calls.h.
constexpr uint32_t kMemory = 0, kMarker = 1;

class CallsTest : public ::testing::Test {
 protected:
  // What the program says of its calls beside what the trace says.
  void Compare(const std::string& scenario, size_t least, const std::string& environment = "") {
    std::filesystem::remove(path_);
    const Output output =
        RunPreloaded("dlsym", scenario, environment + " VRAMSPAN_RECORD=" + path_);
    ASSERT_EQ(output.code, 0) << output.err;
    ASSERT_THAT(output.out, HasSubstr("ok\n"));
    const StatusOr<RecordedRun> run = LoadTrace(path_);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_THAT(run->problems, IsEmpty());
    std::vector<std::string> said, told;
    std::istringstream lines(output.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("call ")) said.push_back(line);
    }
    std::vector<std::string> works = Works(*run);
    ASSERT_EQ(works.size(), said.size());
    for (size_t i = 0; i < said.size(); ++i) {
      told.push_back(said[i].substr(0, said[i].find(": ") + 2) + works[i]);
    }
    EXPECT_THAT(told, ElementsAreArray(said));
    EXPECT_GE(said.size(), least);
  }

 private:
  static bool Names(const RecordedRun& run, const RecordedWork& work, uint32_t allocation) {
    for (const RecordedRange& range : run.set(work.set)) {
      if (range.allocation == allocation) return true;
    }
    return false;
  }
  static bool IsMark(const RecordedRun& run, const RecordedWork& work) {
    return run.codes[work.code].name == "fill_hash" && Names(run, work, kMarker);
  }
  static std::string Told(const RecordedRun& run, const std::vector<const RecordedWork*>& works) {
    if (works.empty()) return "nothing";
    if (works.size() > 1) return std::to_string(works.size()) + " works";
    if (!works[0]->complete) return "nobody knows what";
    return Names(run, *works[0], kMemory) ? "the memory" : "other memory";
  }
  // Between one mark and the next.
  static std::vector<std::string> Works(const RecordedRun& run) {
    std::vector<std::string> told;
    std::vector<const RecordedWork*> between;
    bool marked = false;
    for (const RecordedWork& work : run.works) {
      if (!IsMark(run, work)) {
        between.push_back(&work);
        continue;
      }
      if (marked) told.push_back(Told(run, between));
      between.clear();
      marked = true;
    }
    if (marked) told.push_back(Told(run, between));
    return told;
  }

  trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
};

TEST_F(CallsTest, AreToldOfOneByOne) { Compare("calls", 150); }

TEST_F(CallsTest, MapsOfWideImages) { Compare("calls_wide", 2, "SIMCUDA_COMPUTE_CAPABILITY=10.0"); }

TEST_F(CallsTest, NothingIsKnownOnceATextureReferenceIsBound) {
  for (const std::string call :
       {"cuTexRefSetAddress_v2", "cuTexRefSetAddress2D_v2", "cuTexRefSetAddress2D_v3"}) {
    SCOPED_TRACE(call);
    Compare("texref:" + call, 3);
  }
}

}  // namespace
}  // namespace vramspan_test
