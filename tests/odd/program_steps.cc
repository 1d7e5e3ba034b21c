// What a program does beside launches of one kernel.
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "tests/odd/program.h"

namespace odd {
namespace {

constexpr size_t kChunk = size_t{2} << 20;

std::string Number(size_t n) { return std::to_string(n); }

// A stream that waits, until its end at the latest.
class Parked {
 public:
  Parked(Tools* tools, CUstream stream) : word_(tools->PinnedWord(0)) {
    if (word_ == nullptr) return;
    ODD_CU(cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word_), 1,
                               CU_STREAM_WAIT_VALUE_GEQ));
  }
  ~Parked() {
    if (word_ != nullptr) __atomic_store_n(word_, 1, __ATOMIC_SEQ_CST);
  }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;

 private:
  Word* const word_;
};

}  // namespace

void Program::MakeGraph() {
  Graph graph;
  std::string text = "graph:";
  for (size_t n = draw_.Between(1, 3); n > 0; --n) {
    const Kind kind = SomeKind();
    text += std::string(" ") + NameOfKind(kind);
    for (Item& item : LaunchOfKind(kind, /*captured=*/true, draw_.Percent(4), &tools_)) {
      graph.bundle.push_back(std::move(item));
    }
    ++met_.launches[static_cast<size_t>(kind)];
  }
  Say(text);
  for (const Item& item : graph.bundle) Say("  " + item.text);
  ODD_CU(cuStreamBeginCapture(streams_.capturing(), CU_STREAM_CAPTURE_MODE_RELAXED));
  for (const Item& item : graph.bundle) item.submit(streams_.capturing());
  ODD_CU(cuStreamEndCapture(streams_.capturing(), &graph.source));
  ODD_CU(cuGraphInstantiate(&graph.exec, graph.source, 0));
  graphs_.push_back(std::move(graph));
  for (size_t n = draw_.Between(1, 2); n > 0; --n) LaunchGraph(&graphs_.back());
}

void Program::LaunchGraph(Graph* graph) {
  const size_t stream = streams_.Some(&draw_);
  Say("stream " + Number(stream) + ": launch graph " +
      Number(static_cast<size_t>(graph - graphs_.data())));
  for (const Item& item : graph->bundle) streams_.Use(stream, item.arrays, &memory_);
  CountUnmapped();
  ODD_CU(cuGraphLaunch(graph->exec, streams_[stream]));
  for (const Item& item : graph->bundle) item.effect();
  ++met_.graphs;
}

// REQUIRES: nothing is under way.
void Program::DropGraphs() {
  for (const Graph& graph : graphs_) {
    ODD_CU(cuGraphExecDestroy(graph.exec));
    ODD_CU(cuGraphDestroy(graph.source));
  }
  graphs_.clear();
}

// What is parked counts as running once nothing holds it back but its stream. Other work needs
// memory meanwhile, which moves if the parked code is proven.
void Program::Park() {
  const Kind kind = draw_.Percent(50) ? Kind::kHonest : SomeKind();
  const Bundle bundle = LaunchOfKind(kind, /*captured=*/false, /*lasting=*/false, &tools_);
  std::set<size_t> taken;
  for (const Item& item : bundle) taken.insert(item.arrays.begin(), item.arrays.end());
  const size_t parked = streams_.parked();
  for (const Item& item : bundle) streams_.Use(parked, item.arrays, &memory_);
  const uint64_t untried = Statistics().launches_untried;
  Say("park stream " + Number(parked));
  {
    const Parked until_here(&tools_, streams_[parked]);
    Submit(bundle, parked);
    const vramspanStatistics before = Statistics();
    for (size_t n = draw_.Between(2, 5); n > 0; --n) {
      const Bundle other = HonestLaunch(/*lasting=*/false, &tools_);
      bool free = true;
      for (const Item& item : other) {
        for (const size_t array : item.arrays) free = free && taken.count(array) == 0;
      }
      if (free) Submit(other, streams_.Some(&draw_));
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(4);
    while (!streams_.Idle(parked) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    const vramspanStatistics after = Statistics();
    if (after.launches_untried == untried) met_.beside += after.remaps - before.remaps;
    Say("stream " + Number(parked) + " goes on");
  }
  ++met_.launches[static_cast<size_t>(kind)];
}

void Program::CopyOrFill() {
  const size_t first = memory_.Some(), second = memory_.SomeBut(first),
               count = draw_.Between(1, 900);
  const Slice to = memory_.SomeSlice(first, count), from = memory_.SomeSlice(second, count);
  const CUdeviceptr at = memory_[first].AddressOf(to.first),
                    source = memory_[second].AddressOf(from.first);
  if (draw_.Percent(50)) {
    const auto value = static_cast<unsigned>(draw_.Word64());
    return Submit(
        {{"fill " + TextOf(to),
          {first},
          [=](CUstream stream) { ODD_CU(cuMemsetD32Async(at, value, 2 * count, stream)); },
          [this, to, value] {
            for (size_t i = 0; i < to.count; ++i) {
              memory_[to.array].Set(to.first + i, Word{value} << 32 | value);
            }
          }}},
        streams_.Some(&draw_));
  }
  Submit({{"copy " + TextOf(from) + " to " + TextOf(to),
           {first, second},
           [=](CUstream stream) {
             ODD_CU(cuMemcpyDtoDAsync(at, source, count * sizeof(Word), stream));
           },
           [this, to, from] {
             for (size_t i = 0; i < to.count; ++i) {
               memory_[to.array].Set(to.first + i, memory_[from.array].Get(from.first + i));
             }
           }}},
         streams_.Some(&draw_));
}

void Program::Prefetch() {
  const size_t array = memory_.Some(), stream = streams_.Some(&draw_);
  const bool out = draw_.Percent(50);
  Say("stream " + Number(stream) + ": prefetch array " + Number(array) + (out ? " out" : " in"));
  ODD_SPAN(vramspanMemPrefetchAsync(runtime_, memory_[array].at, memory_[array].bytes(),
                                    out ? VRAMSPAN_LOCATION_HOST : VRAMSPAN_LOCATION_DEVICE,
                                    streams_[stream]));
}

void Program::ChangeBudget() {
  const size_t chunks = draw_.Between(2, budget_ + 1);
  Say("room for " + Number(chunks) + " chunks");
  ODD_SPAN(vramspanSetDeviceBudget(runtime_, chunks * kChunk));
}

}  // namespace odd
