// What the live mover tells its scheduler is recorded, and told again: the same comes out.
#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/mover/traced_fixture.h"
#include "tests/trace/sample.h"
#include "tools/replay/repeat_events.h"

namespace vramspan_test {
namespace {

using vramspan::StatusOr;
using vramspan::replay::RepeatedEvents;

class RecordedEvents : public TracedTest {
 protected:
  RecordedEvents() { setenv("VRAMSPAN_RECORD_EVENTS", path_.c_str(), 1); }
  ~RecordedEvents() override { unsetenv("VRAMSPAN_RECORD_EVENTS"); }

  // The program is over: what its events come to, told again.
  RepeatedEvents End() {
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    runtime_.reset();
    buffers_.clear();
    StatusOr<RepeatedEvents> again = vramspan::replay::RepeatEvents(path_);
    EXPECT_TRUE(again.ok()) << again.status();
    return again.ok() ? *again : RepeatedEvents();
  }
  static void ExpectTheSame(const RepeatedEvents& again) {
    EXPECT_TRUE(again.whole);
    EXPECT_EQ(again.damage, "");
    if (!again.difference.has_value()) return;
    ADD_FAILURE() << "event " << again.difference->event << ", " << again.difference->name
                  << ": recorded " << again.difference->recorded << "; now "
                  << again.difference->now;
  }

 private:
  vramspan::trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.events");
};
INSTANTIATE_TRACED(RecordedEvents);

// Each thread has a stream and a buffer, and there is room for half of them. Moves are so slow that
// launches are held until no more may be; how often, in all, depends on the machine.
TEST_P(RecordedEvents, GiveTheSameActionsWithManyHeldLaunches) {
  constexpr size_t kThreads = 2 * kBudget;
  constexpr int kLaunches = 120;
  Start();
  world_.set_delay("cuMemSetAccess", 20'000);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, stream = NewStream()] {
      EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
      for (int i = 0; i < kLaunches; ++i) Add(t, 1, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  world_.set_delay("cuMemSetAccess", 0);
  runtime_->Synchronize();
  const vramspanStatistics stats = runtime_->stats();
  const RepeatedEvents again = End();
  ExpectTheSame(again);
  EXPECT_GT(again.most_held, 100u);
  EXPECT_GE(again.actions, stats.works_held + stats.fetches + stats.evictions);
}

// What a program does besides: it frees and allocates, advises, pins, asks for moves.
TEST_P(RecordedEvents, GiveTheSameActionsWithEverythingElse) {
  Start();
  const vramspanRuntime runtime = runtime_->get();
  for (int round = 0; round < 6; ++round) {
    for (size_t i = 0; i < 2 * kBudget; ++i) Add(i, 1, stream_);
    const Buffer& b = buffers_[static_cast<size_t>(round)];
    EXPECT_SPAN(vramspanMemAdvise(
        runtime, b.ptr, b.bytes(),
        round % 2 == 0 ? VRAMSPAN_ADVISE_READ_MOSTLY : VRAMSPAN_ADVISE_PREFER_HOST));
    EXPECT_SPAN(vramspanMemPrefetchAsync(
        runtime, b.ptr, b.bytes(),
        round % 2 == 0 ? VRAMSPAN_LOCATION_DEVICE : VRAMSPAN_LOCATION_HOST, stream_));
    NewBuffer();
    runtime_->Synchronize();
  }
  EXPECT_GT(runtime_->stats().fetches, 0u);
  ExpectTheSame(End());
}

}  // namespace
}  // namespace vramspan_test
