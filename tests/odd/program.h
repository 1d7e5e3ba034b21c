// One odd program: honest kernels beside odd ones, in more memory than the device has. All of it
// follows from a seed but for what happens at the same time.
#ifndef VRAMSPAN_TESTS_ODD_PROGRAM_H_
#define VRAMSPAN_TESTS_ODD_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/odd/launches.h"
#include "tests/odd/streams.h"
#include "tests/odd/tools.h"

namespace odd {

// What was met, by all programs so far: a test in which nothing of it happened proves nothing.
struct Met {
  uint64_t programs = 0, steps = 0;
  uint64_t launches[static_cast<size_t>(Kind::kCount)] = {};
  uint64_t again = 0;            // Launches that came as before.
  uint64_t graphs = 0;           // Launches of graphs.
  uint64_t unmapped = 0;         // Chunks that were unmapped when an odd launch came.
  uint64_t before_unmapped = 0;  // Programs in which there was one.
  uint64_t beside = 0;           // Remaps while a launch of proven code ran.
  uint64_t evictions = 0, fetches = 0, untried = 0, plausible = 0, proven = 0;
};

class Program {
 public:
  // `log` gets what it does, line by line, before it is done.
  Program(const Machine& machine, uint64_t seed, std::vector<std::string>* log, Met* met);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Once. Throws Failure where something is wrong: the process is to end then.
  void Run();

 private:
  struct Graph {
    CUgraph source = nullptr;
    CUgraphExec exec = nullptr;
    Bundle bundle;
  };

  void DrawKnown();
  void Step();
  void Say(const std::string& text) { log_.push_back(text); }
  Kind SomeKind();
  Kind OddKind();
  void Launch(Kind kind);
  void LaunchProven(const Bundle& bundle);
  void LaunchAgain();
  void Submit(const Bundle& bundle, size_t stream);
  void MakeGraph();
  void LaunchGraph(Graph* graph);
  void DropGraphs();
  void Park();  // Other work beside a launch that cannot run yet.
  void CopyOrFill();
  void Prefetch();
  void ChangeBudget();
  void CheckSome();
  void CheckAll();
  void CountUnmapped();
  void Synchronize();
  void End();
  vramspanStatistics Statistics() const;

  Draw draw_;
  std::vector<std::string>& log_;
  Met& met_;
  const size_t budget_;
  const vramspanRuntime runtime_;
  Memory memory_;
  Tools tools_;
  Streams streams_;
  std::vector<Bundle> launched_;
  std::vector<Graph> graphs_;
  bool counted_ = false;
};

}  // namespace odd

#endif  // VRAMSPAN_TESTS_ODD_PROGRAM_H_
