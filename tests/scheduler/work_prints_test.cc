// Which fingerprints are taken behind work.
#include "runtime/scheduler/work_prints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkPrintsTest : public ::testing::Test {
 protected:
  WorkPrintsTest() {
    for (uint32_t c = 1; c <= 4; ++c) {
      chunks_.Fetch(c);
    }
  }
  Work* Submit(std::vector<uint32_t> likely, bool held = true) {
    works_.push_back(std::make_unique<SomeWork>(std::move(likely)));
    return Submit(works_.back().get(), held);
  }
  Work* Submit(Work* work, bool held = true) {
    work->held = held;
    work->released = !held;
    if (held) queue_.Push(work);
    prints_.Choose(work, host_used_, [this]() -> std::optional<uint32_t> {
      if (places_ == 0) return std::nullopt;
      return --places_;
    });
    return work;
  }
  // The chunks of those that are taken.
  std::vector<uint32_t> Release(Work* work) {
    if (work->held) queue_.Pop(1);
    work->held = false;
    std::vector<uint32_t> asked;
    prints_.Ask(*work, host_used_,
                [&](const WorkPrint& print) { asked.push_back(print.chunk.value); });
    work->released = true;
    return asked;
  }

  FewChunks chunks_{4};
  WorkQueue queue_;
  WorkPrints prints_{&chunks_.table(), &queue_};
  bool host_used_ = true;
  uint32_t places_ = 100;
  std::vector<std::unique_ptr<SomeWork>> works_;
};

TEST_F(WorkPrintsTest, OfWhatItMayWrite) {
  SomeWork work({1, 2}, {3}, {4});
  work.own_uses[1].how.write = false;
  EXPECT_THAT(Release(Submit(&work)), ElementsAre(1, 3))
      << "the second is only read, and what moves beside it is not the fourth";
  EXPECT_EQ(chunks_[1].fingerprints_taken, 1);
  EXPECT_EQ(chunks_[1].pending_fingerprints, 0);
}

TEST_F(WorkPrintsTest, OfWorkThatIsReleasedAtOnceToo) {
  EXPECT_THAT(Release(Submit({1, 2}, /*held=*/false)), ElementsAre(1, 2));
}

TEST_F(WorkPrintsTest, NoneWhileAllFits) {
  host_used_ = false;
  EXPECT_THAT(Submit({1}, /*held=*/false)->prints.places, IsEmpty());
  Work* const held = Submit({1});
  EXPECT_EQ(held->prints.places.size(), 1u) << "memory may be short by then";
  EXPECT_THAT(Release(held), IsEmpty());
  EXPECT_EQ(chunks_[1].pending_fingerprints, 0);
}

TEST_F(WorkPrintsTest, NoneWhereItTellsNothing) {
  SomeWork barrier({1});
  barrier.access = Access::kUnknown;
  EXPECT_THAT(Submit(&barrier)->prints.places, IsEmpty()) << "it may write anywhere";
  SomeWork request({1});
  request.kind = Work::Kind::kFetch;
  EXPECT_THAT(Submit(&request)->prints.places, IsEmpty());
  chunks_[1].dying = true;
  chunks_[2].log2_size = 22;
  EXPECT_THAT(Submit({1, 2})->prints.places, IsEmpty()) << "it is gone soon, or small";
}

TEST_F(WorkPrintsTest, NoMoreThanThereArePlaces) {
  places_ = 1;
  EXPECT_EQ(Submit({1, 2, 3})->prints.places.size(), 1u);
}

TEST_F(WorkPrintsTest, OneThatIsTakenSoonMakesItNeedless) {
  std::vector<Work*> works;
  for (int i = 0; i < 2; ++i) works.push_back(Submit({1}));
  EXPECT_THAT(Release(works[0]), IsEmpty());
  EXPECT_THAT(Release(works[1]), ElementsAre(1));
}

TEST_F(WorkPrintsTest, OneThatIsTakenMuchLaterDoesNot) {
  std::vector<Work*> works = {Submit({1})};
  for (int i = 0; i < 3; ++i) works.push_back(Submit({2}));
  works.push_back(Submit({1}));
  EXPECT_THAT(Release(works[0]), ElementsAre(1));
}

TEST_F(WorkPrintsTest, ThoseThatCouldNotBePutThereCountNoMore) {
  Work* const held = Submit({1, 2});
  EXPECT_EQ(chunks_[2].pending_fingerprints, 1);
  prints_.Drop(held);
  EXPECT_EQ(chunks_[2].pending_fingerprints, 0);
  EXPECT_THAT(held->prints.places, IsEmpty());
}

}  // namespace
}  // namespace vramspan
