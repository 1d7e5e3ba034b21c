// The list of what is run, and how. One line a case.
#ifndef VRAMSPAN_TESTS_HOSTILE_CASES_H_
#define VRAMSPAN_TESTS_HOSTILE_CASES_H_

#include <string>
#include <vector>

namespace vramspan_test {

// Options of `vramspan run`. %d stands for a folder that is new for each run and gone after it, as
// it does in what the shell is told.
inline const std::string kAmple = "--device-memory 200MiB";  // Of 256 MiB.
inline const std::string kShort = "--device-memory 16MiB";
inline const std::string kTiny = "--device-memory 4MiB";
inline const std::string kSafe = "--device-memory 16MiB --overlap safe";
inline const std::string kAll = "--device-memory 16MiB --overlap all";
inline const std::string kRecorded = "--device-memory 16MiB --record %d/trace";
inline const std::string kRecordedAmple = "--record %d/trace";

struct Case {
  std::string program;            // What hostile_programs is told: a name and arguments.
  std::vector<std::string> ways;  // Options of `vramspan run`, one run each.
  std::string setting = {};       // For the shell before both runs: "ulimit -n 16;", "unset HOME;".
  int times = 1;                  // Runs of each way; with VRAMSPAN_NIGHTLY, `nightly`.
  int nightly = 20;
};

const std::vector<Case>& Cases();

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_HOSTILE_CASES_H_
