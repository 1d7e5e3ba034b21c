// A figure of a benchmark as one line of JSON. What the program cannot know of it (commit, device,
// driver, target, date) is added by bench/programs/result_rows.py, which bench/run calls.
#ifndef VRAMSPAN_BENCH_RESULT_ROW_H_
#define VRAMSPAN_BENCH_RESULT_ROW_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramspan::bench {

// REQUIRES: `values` is not empty. The row has their median, and the least and the most of them.
struct ResultRow {
  std::string id;  // Words of a-z, 0-9 and _, with dots between.
  std::string unit;
  std::vector<double> values;
};

// `name` as a part of an id: "LaunchOfEight/threads:4" is "launch_of_eight.threads_4".
std::string IdOf(std::string_view name);

// The program's command line as a shell takes it; with VRAMSPAN_DRIVER where that is set.
std::string CommandOf(int argc, char* const* argv);

// Without a line's end.
std::string ResultLine(const ResultRow& row, std::string_view command);

// Adds the lines to a file, which need not exist. False, with a message on standard error, where
// that fails.
bool AppendResults(const std::string& path, const std::vector<ResultRow>& rows,
                   std::string_view command);

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_RESULT_ROW_H_
