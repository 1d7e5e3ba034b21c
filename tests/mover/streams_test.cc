// The states of streams by themselves: whose they are, what is left of those that have gone, and
// how many the mover looks at each time.
#include "runtime/mover/streams.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

using vramspan::Driver;
using vramspan::Streams;
using vramspan::StreamState;
using vramspan::StreamWork;

CUstream Handle(uintptr_t number) { return reinterpret_cast<CUstream>(number << 8); }

class StreamsTest : public MoverTest {
 protected:
  // Flags come from a page of 1024; another is made when none is left.
  StreamState* Get(CUstream stream) {
    StreamState* state = streams_.Get(stream);
    if (state != nullptr) return state;
    const auto page = Streams::MakePage(*driver_);
    EXPECT_TRUE(page.ok());
    streams_.Add(*page);
    ++pages_;
    return streams_.Get(stream);
  }

  const std::shared_ptr<const Driver> driver_ = *Driver::Load();
  Streams streams_{driver_};
  int pages_ = 0;
};

TEST_F(StreamsTest, StaysWhileAThreadAwaitsWhatItHolds) {
  StreamState* const state = Get(Handle(1));
  state->awaiting = 1;
  streams_.Forget(state);
  streams_.Sweep();
  EXPECT_EQ(streams_.all().size(), 1u) << "a thread still looks at it";
  state->awaiting = 0;
  streams_.Sweep();
  EXPECT_EQ(streams_.all().size(), 0u);
}

TEST_F(StreamsTest, AThreadsOwnIsNoOthers) {
  const StreamState* const mine = Get(CU_STREAM_PER_THREAD);
  EXPECT_EQ(Get(CU_STREAM_PER_THREAD), mine);
  EXPECT_EQ(Get(nullptr), Get(CU_STREAM_LEGACY)) << "two names of one stream";
  const StreamState* last = mine;
  std::thread::id id;
  bool came_again = false;
  for (int i = 0; i < 20; ++i) {
    std::thread thread([&] {
      const StreamState* const state = Get(CU_STREAM_PER_THREAD);
      EXPECT_NE(state, mine);
      EXPECT_NE(state, last) << "of a thread that has ended";
      last = state;
    });
    came_again = came_again || thread.get_id() == id;
    id = thread.get_id();
    thread.join();
  }
  EXPECT_TRUE(came_again) << "no id of a thread was handed out again, so nothing was tested";
}

TEST_F(StreamsTest, OfAHandleThatComesAgainAreTwo) {
  StreamState* const before = Get(Handle(1));
  StreamWork work;
  before->in_flight.push_back(&work);
  streams_.Forget(before);
  streams_.Sweep();
  EXPECT_EQ(streams_.Find(Handle(1)), nullptr);
  StreamState* const after = Get(Handle(1));
  EXPECT_NE(after, before);
  EXPECT_NE(after->reached, before->reached) << "marks of the one would be the other's";
  EXPECT_EQ(streams_.all().size(), 2u) << "what it carried is still under way";
  before->in_flight.clear();
  streams_.Sweep();
  EXPECT_EQ(streams_.all().size(), 1u);
  EXPECT_EQ(streams_.Find(Handle(1)), after);
}

TEST_F(StreamsTest, LeaveNothingWhenTheyHaveGone) {
  for (int lap = 0; lap < 5; ++lap) {
    std::vector<StreamState*> states;
    for (uintptr_t i = 1; i <= 1000; ++i) states.push_back(Get(Handle(i)));
    for (StreamState* state : states) streams_.Forget(state);
    streams_.Sweep();
    EXPECT_TRUE(streams_.all().empty());
  }
  EXPECT_EQ(pages_, 1) << "flags are used again";
}

TEST_F(StreamsTest, AreLookedAtWhileTheyAreBusy) {
  std::vector<StreamState*> states;
  for (uintptr_t i = 1; i <= 1000; ++i) states.push_back(Get(Handle(i)));
  EXPECT_TRUE(streams_.busy().empty());
  StreamWork work;
  for (const size_t i : {7u, 500u, 999u}) {
    states[i]->in_flight.push_back(&work);
    streams_.Busy(states[i]);
    streams_.Busy(states[i]);
  }
  EXPECT_EQ(streams_.busy().size(), 3u);
  states[500]->in_flight.clear();
  states[7]->drained_at = 1;
  states[7]->in_flight.clear();
  streams_.DropIdle();
  EXPECT_EQ(streams_.busy(), (std::vector<StreamState*>{states[7], states[999]}));
  states[999]->in_flight.clear();
  streams_.Forget(states[999]);
  streams_.Sweep();
  EXPECT_EQ(streams_.busy(), std::vector<StreamState*>{states[7]}) << "it has gone";
  states[7]->drained_at.reset();
  streams_.DropIdle();
  EXPECT_TRUE(streams_.busy().empty());
}

TEST_F(StreamsTest, CountThoseThatAreUnrecorded) {
  for (uintptr_t i = 1; i <= 3; ++i) {
    streams_.SetUnrecorded(Get(Handle(i)), true);
    streams_.SetUnrecorded(Get(Handle(i)), true);
    EXPECT_EQ(streams_.unrecorded(), i);
  }
  StreamState* const gone = Get(Handle(2));
  streams_.Forget(gone);
  streams_.Sweep();
  EXPECT_EQ(streams_.unrecorded(), 3u) << "nothing says yet when its work ends";
  streams_.SetUnrecorded(gone, false);
  streams_.Sweep();
  EXPECT_EQ(streams_.unrecorded(), 2u);
  EXPECT_EQ(streams_.all().size(), 2u);
}

}  // namespace
}  // namespace vramspan_test
