// What every benchmark does with its command line.
#ifndef VRAMSPAN_BENCH_WORKLOADS_ARGUMENTS_H_
#define VRAMSPAN_BENCH_WORKLOADS_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <optional>

namespace vramspan::bench {

// The code to exit with, where there is nothing to run: 0 behind --help, 2 for what is not
// understood, which it says.
inline std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_ARGUMENTS_H_
