// What a test has recorded.
#ifndef VRAMSPAN_TESTS_MOVER_RECORDED_H_
#define VRAMSPAN_TESTS_MOVER_RECORDED_H_

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "tools/replay/load_run.h"

namespace vramspan_test {

// The recording, which must be whole; empty, with a failure, where it is not.
inline vramspan::replay::RecordedRun LoadedWhole(const std::string& path) {
  vramspan::StatusOr<vramspan::replay::RecordedRun> run = vramspan::replay::LoadRun(path);
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return {};
  EXPECT_THAT(run->problems, testing::IsEmpty());
  return *std::move(run);
}

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_RECORDED_H_
