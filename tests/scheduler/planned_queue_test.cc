// The queue that is kept from plan to plan, against one that is made anew each time, and what it
// says of its changes against what it was.
#include "runtime/scheduler/planned_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace vramspan {
namespace {

class PlannedQueueTest : public testing::Test {
 protected:
  static constexpr uint64_t kExpected = uint64_t{1} << 40;  // The first id of what is.

  uint32_t Below(size_t bound) { return static_cast<uint32_t>(rng_() % bound); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

  QueuedWork NewWork() { return {.id = ++ids_, .duration = 1 + Below(2), .version = 1 + Below(5)}; }

  void Submit() {
    QueuedWork work = NewWork();
    const bool released = held_.empty() && OneIn(2);
    const auto comes = static_cast<PlannedQueue::Comes>(Below(3));
    if (comes == PlannedQueue::Comes::kExpected && !expected_.empty()) {
      if (!OneIn(4)) work.version = expected_.front().version;
      if (!OneIn(4)) work.duration = expected_.front().duration;
      expected_.pop_front();
    } else if (comes != PlannedQueue::Comes::kBeside) {
      expected_.clear();
    }
    if (OneIn(16)) return queue_.LeaveOut(comes);
    (released ? released_ : held_).push_back(work);
    queue_.Submit(work, released, comes);
  }
  void Release() {
    if (held_.empty()) return;
    released_.push_back(held_.front());
    held_.pop_front();
    queue_.Release();
  }
  void Finish() {
    const size_t which = OneIn(4) ? 1 : 0;
    if (released_.size() <= which) return;
    EXPECT_EQ(queue_.Finish(released_[which].id), which == 0);
    if (which == 0) released_.pop_front();
  }
  void Expect() {
    const QueuedWork work{
        .id = kExpected + Below(3), .duration = 1 + Below(2), .version = 1 + Below(5)};
    expected_.push_back(work);
    queue_.Expect(work);
  }
  void Keep() {
    const uint32_t count = Below(expected_.size() + 2);
    if (count < expected_.size()) expected_.resize(count);
    queue_.KeepExpected(count);
  }
  void Rename() {
    const uint64_t id = kExpected + Below(3), version = 1 + Below(5);
    for (QueuedWork& work : expected_) {
      if (work.id == id) work.version = version;
    }
    queue_.Rename(id, {}, version);
  }
  void Retime() {
    const uint64_t longer = Below(5);
    const auto duration = [&](const QueuedWork& work) {
      return work.version == longer ? 3 - work.duration : work.duration;
    };
    for (auto* part : {&released_, &held_, &expected_}) {
      for (QueuedWork& work : *part) work.duration = duration(work);
    }
    queue_.Retime(duration);
  }
  void Restart() {
    released_.clear();
    held_.clear();
    queue_.Restart();
  }

  void Tell() {
    std::vector<QueuedWork> all;
    for (const auto* part : {&released_, &held_, &expected_}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    const auto same = [](const QueuedWork& a, const QueuedWork& b) {
      return a.version == b.version && a.duration == b.duration;
    };
    PlanRequest request;
    queue_.Tell(&request);
    ASSERT_TRUE(
        std::equal(all.begin(), all.end(), request.queue.begin(), request.queue.end(),
                   [&](const auto& a, const auto& b) { return a.id == b.id && same(a, b); }));
    EXPECT_EQ(request.released, released_.size());
    EXPECT_EQ(queue_.expected(), expected_.size());
    if (request.queue_since != 0) {
      EXPECT_EQ(request.queue_since, told_version_);
      ASSERT_LE(request.queue_gone + request.queue_same, told_.size());
      ASSERT_LE(request.queue_same, all.size());
      for (size_t i = 0; i < request.queue_same; ++i) {
        EXPECT_TRUE(same(told_[request.queue_gone + i], all[i])) << i;
      }
      kept_ += request.queue_same;
      if (request.queue_tail != 0) {
        const size_t there = request.queue_gone + request.queue_same + request.queue_left;
        const size_t here = request.queue_same + request.queue_came;
        ASSERT_LE(there + request.queue_tail, told_.size());
        ASSERT_LE(here + request.queue_tail, all.size());
        for (size_t i = 0; i < request.queue_tail; ++i) {
          EXPECT_TRUE(same(told_[there + i], all[here + i])) << i;
        }
        kept_behind_ += request.queue_tail;
      }
    }
    if (request.queue_version == told_version_) {
      EXPECT_TRUE(std::equal(all.begin(), all.end(), told_.begin(), told_.end(), same));
    }
    told_ = all;
    told_version_ = request.queue_version;
  }

  std::mt19937 rng_{7};
  uint64_t ids_ = 0;
  PlannedQueue queue_;
  std::deque<QueuedWork> released_, held_, expected_;
  std::vector<QueuedWork> told_;
  uint64_t told_version_ = 0;
  size_t kept_ = 0, kept_behind_ = 0;
};

TEST_F(PlannedQueueTest, IsWhatCameAndHasNotGoneAndSaysWhatChanged) {
  for (int step = 0; step < 50'000 && !HasFatalFailure(); ++step) {
    switch (Below(8)) {
      case 0:
      case 1:
        Submit();
        break;
      case 2:
        Release();
        break;
      case 3:
        Finish();
        break;
      case 4:
        Expect();
        break;
      case 5:
        Tell();
        break;
      case 6:
        if (OneIn(6)) Keep();
        break;
      default:
        if (OneIn(8)) Rename();
        if (OneIn(8)) Retime();
        if (OneIn(500)) Restart();
    }
  }
  EXPECT_GT(kept_, 10'000u);
  EXPECT_GT(kept_behind_, 1'000u);
}

}  // namespace
}  // namespace vramspan
