// A machine that has no thread for us: results are right, nothing waits for ever, and the program
// goes on.
#include <string>
#include <vector>

#include "tests/base/refuse_threads.h"
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using vramspan::RefuseThreads;

class ThreadsTest : public MoverTest {
 protected:
  ThreadsTest() : stream_(world_.NewStream()) {}
  ~ThreadsTest() override { EXPECT_CU(world_.api().StreamDestroy(stream_)); }

  // Three times the budget, worked on twice.
  void Check(TestRuntime& runtime) {
    std::vector<Buffer> buffers;
    for (Word seed = 1; seed <= 12; ++seed) {
      buffers.push_back(runtime.Alloc(kChunk));
      runtime.Fill(buffers.back(), seed, stream_);
    }
    for (int round = 0; round < 2; ++round) {
      for (Buffer& b : buffers) runtime.Add(b, 1, stream_);
    }
    // What went wrong in the background is told here, once.
    vramspanSynchronize(runtime.get());
    for (Buffer& b : buffers) {
      EXPECT_EQ(world_.Wrong(b), "");
      runtime.Free(b);
    }
  }

  const Watchdog watchdog_{"a test of threads that are not to be had", 100};
  const CUstream stream_;
};

TEST_F(ThreadsTest, WithoutTheMoversThereIsNoRuntime) {
  const RefuseThreads refuse;
  const RuntimeOptions options;
  const vramspanConfig config = Config(options);
  vramspanRuntime runtime = nullptr;
  EXPECT_EQ(vramspanCreate(&runtime, &config), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(LastError().find("vramspan-mover"), std::string::npos) << LastError();
}

TEST_F(ThreadsTest, WithoutOthersAllIsRight) {
  for (int allowed = 1; allowed <= 3; ++allowed) {
    SCOPED_TRACE(allowed);
    const RefuseThreads refuse(allowed);
    TestRuntime runtime(world_);
    Check(runtime);
    EXPECT_EQ(RefuseThreads::refused() != 0, allowed < 3);
  }
}

}  // namespace
}  // namespace vramspan_test
