#include "runtime/base/uncancellable.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace vramspan {
namespace {

int State() {
  int state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, nullptr);
  return state;
}

TEST(Uncancellable, PutsBackWhatWasThere) {
  for (const int before : {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE}) {
    pthread_setcancelstate(before, nullptr);
    {
      const Uncancellable outer;
      {
        const Uncancellable inner;
        EXPECT_EQ(State(), PTHREAD_CANCEL_DISABLE);
      }
      EXPECT_EQ(State(), PTHREAD_CANCEL_DISABLE);
    }
    EXPECT_EQ(State(), before);
  }
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
}

TEST(Uncancellable, IsHeldOnceBeyondAFunction) {
  Uncancellable::EndHold();
  EXPECT_EQ(State(), PTHREAD_CANCEL_ENABLE) << "nothing was held";
  {
    const Uncancellable inside;
    Uncancellable::Hold();
    Uncancellable::Hold();
  }
  EXPECT_EQ(State(), PTHREAD_CANCEL_DISABLE);
  {
    const Uncancellable inside;
    Uncancellable::EndHold();
    EXPECT_EQ(State(), PTHREAD_CANCEL_DISABLE);
  }
  EXPECT_EQ(State(), PTHREAD_CANCEL_ENABLE);
}

struct Passed {
  bool inside = false, behind = false;
};

// Apart: of a frame that a cancellation unwinds, AddressSanitizer does not learn that its variables
// are gone.
__attribute__((noinline)) void BeCancelledInside(Passed& passed) {
  const Uncancellable now;
  pthread_cancel(pthread_self());
  pthread_testcancel();
  usleep(1);
  passed.inside = true;
}

// It is not lost: it comes at the program's own next chance.
TEST(Uncancellable, ACancellationThatCameMeanwhileComesLater) {
  Passed passed;
  pthread_t thread;
  const auto body = [](void* data) -> void* {
    Passed& here = *static_cast<Passed*>(data);
    BeCancelledInside(here);
    pthread_testcancel();
    here.behind = true;
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, &passed), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(passed.inside);
  EXPECT_FALSE(passed.behind);
}

}  // namespace
}  // namespace vramspan
