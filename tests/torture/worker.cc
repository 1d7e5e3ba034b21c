#include "tests/torture/worker.h"

#include <cstdio>
#include <random>
#include <vector>

#include "tests/kernels/test_kernels.h"

namespace vramspan_test::torture {
namespace {

using Word = unsigned long long;
using Clock = std::chrono::steady_clock;

constexpr size_t kCellWords = 512;
constexpr size_t kCellBytes = kCellWords * sizeof(Word);
constexpr int kStreamsPerThread = 3;  // Two of its own and the per-thread default stream.
constexpr size_t kMostCells = 16;     // That one operation touches.

// What a cell holds: word i is HashWord(first + i, seed) + add, or `add` everywhere (plain).
struct Cell {
  Word seed = 0;
  Word first = 0;
  Word add = 0;
  bool plain = false;
  bool written = false;

  Word At(size_t i) const { return (plain ? 0 : HashWord(first + i, seed)) + add; }
};

struct Array {
  CUdeviceptr ptr = 0;
  size_t cells = 0;
  int stream = 0;
  bool pinned = false;
  std::vector<Cell> content;
  CUgraphExec graph = nullptr;  // Adds graph_add to cells [graph_at, graph_at + graph_cells).
  CUgraph graph_source = nullptr;
  size_t graph_at = 0, graph_cells = 0;
  Word graph_add = 0;

  CUdeviceptr CellAt(size_t i) const { return ptr + i * kCellBytes; }
};
class Worker {
 public:
  Worker(Shared& shared, int index)
      : s_(shared), d_(shared.driver->api()), random_(shared.options->seed * 1000003 + index) {}

  void Run() {
    try {
      Check(d_.CtxSetCurrent(s_.context), "cuCtxSetCurrent");
      for (int i = 0; i < kStreamsPerThread - 1; ++i) {
        Check(d_.StreamCreate(&streams_[i], i == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT),
              "cuStreamCreate");
      }
      streams_[kStreamsPerThread - 1] = CU_STREAM_PER_THREAD;
      Check(d_.EventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
      const TortureOptions& o = *s_.options;
      const uint64_t mine = o.operations / static_cast<uint64_t>(o.threads);
      for (uint64_t i = 0; !s_.stop && (o.operations == 0 || i < mine); ++i) {
        Step();
        const uint64_t n = s_.operations.fetch_add(1, std::memory_order_relaxed) + 1;
        if ((o.operations == 0 || o.seconds != 0) && n % 64 == 0 &&
            std::chrono::duration<double>(Clock::now() - s_.begin).count() > o.seconds) {
          break;
        }
      }
      for (Array& a : arrays_) CheckCells(a, 0, a.cells);
      while (!arrays_.empty()) FreeArray(arrays_.size() - 1);
      for (int i = 0; i < kStreamsPerThread - 1; ++i) {
        Check(d_.StreamSynchronize(streams_[i]), "cuStreamSynchronize");
        Span(vramspanStreamForget(s_.runtime, streams_[i]), "vramspanStreamForget");
        Check(d_.StreamDestroy(streams_[i]), "cuStreamDestroy");
      }
      Check(d_.EventDestroy(event_), "cuEventDestroy");
    } catch (const Failure& failure) {
      s_.stop = true;
      // An open scope would keep everybody waiting for its end.
      if (open_ >= 0) vramspanWorkEnd(s_.runtime, streams_[open_]);
      std::fprintf(stderr, "torture: %s\n", failure.text.c_str());
      const std::lock_guard<std::mutex> lock(s_.mu);
      if (s_.failure.empty()) s_.failure = failure.text;
    }
  }

 private:
  uint64_t Pick(uint64_t n) { return random_() % n; }

  void Check(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    throw Failure{std::string(what) + ": " + vramspan::CuResultName(result)};
  }
  void Span(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    throw Failure{std::string(what) + ": " + vramspanLastErrorMessage()};
  }

  size_t MyBytes() const {
    size_t bytes = 0;
    for (const Array& a : arrays_) bytes += a.cells * kCellBytes;
    return bytes;
  }

  // Mostly a few arrays in use, now and then any: a working set that drifts.
  Array& Some() {
    if (Pick(300) == 0) hot_ = Pick(arrays_.size());
    const size_t i = Pick(40) == 0 ? Pick(arrays_.size()) : hot_ + Pick(3);
    return arrays_[i % arrays_.size()];
  }

  struct Slice {
    size_t at, n;
  };
  Slice SomeCells(const Array& a) {
    const size_t n = 1 + Pick(std::min(a.cells, kMostCells));
    return {Pick(a.cells - n + 1), n};
  }

  void Begin(int stream, std::initializer_list<vramspanRange> ranges) {
    if (!s_.options->traced.empty()) return;
    // One in fifty declares nothing but that it is work.
    if (Pick(50) == 0) {
      Span(vramspanWorkBegin(s_.runtime, streams_[stream], nullptr, 0), "vramspanWorkBegin");
    } else {
      Span(vramspanWorkBegin(s_.runtime, streams_[stream], ranges.begin(), ranges.size()),
           "vramspanWorkBegin");
    }
    open_ = stream;
  }
  void End(int stream) {
    open_ = -1;
    if (!s_.options->traced.empty()) return;
    Span(vramspanWorkEnd(s_.runtime, streams_[stream]), "vramspanWorkEnd");
  }
  vramspanRange RangeOf(const Array& a, Slice c, uint32_t access) {
    return {a.CellAt(c.at), c.n * kCellBytes, access, 0};
  }

  void LaunchInto(CUfunction f, void** params, size_t words, CUstream stream) {
    const unsigned blocks = static_cast<unsigned>((words + 255) / 256);
    Check(d_.LaunchKernel(f, blocks, 1, 1, 256, 1, 1, 0, stream, params, nullptr),
          "cuLaunchKernel");
  }
  void Launch(CUfunction f, void** params, size_t words, int stream) {
    LaunchInto(f, params, words, streams_[stream]);
  }

  void Step() {
    const size_t target = s_.options->data_bytes / static_cast<size_t>(s_.options->threads);
    if (arrays_.size() < 4 || (MyBytes() < target && Pick(20) == 0)) return Allocate();
    if (Pick(400) == 0 && arrays_.size() > 4) return FreeArray(Pick(arrays_.size()));
    Array& a = Some();
    const uint64_t what = Pick(1000);
    if (what < 250) return Fill(a);
    if (what < 600) return Add(a);
    if (what < 720) return CopyFrom(a, Some());
    if (what < 800) return Set(a);
    if (what < 860) return s_.options->capture && Pick(2) == 0 ? Capture(a) : Graph(a);
    if (what < 930) return CheckSome(a);
    if (what < 960) return Upload(a);
    if (what < 975) return Advise(a);
    if (what < 985) return Prefetch(a);
    if (what < 990) return SwitchStream(a);
    if (what < 992) return Pin(a);
    if (what < 994) return Budget();
    Small();
  }

  void Allocate() {
    static constexpr size_t kSizes[] = {1, 16, 100, 257, 300, 512, 700, 1024, 1600, 2500};
    Array a;
    a.cells = kSizes[Pick(std::size(kSizes))];
    // Odd sizes too: the bytes past the last whole cell are never touched.
    const size_t extra = Pick(2) * Pick(kCellBytes);
    Span(vramspanMemAlloc(s_.runtime, &a.ptr, a.cells * kCellBytes + extra), "vramspanMemAlloc");
    if (a.ptr % 256 != 0) throw Failure{"vramspanMemAlloc: not aligned to 256 bytes"};
    a.content.resize(a.cells);
    a.stream = static_cast<int>(Pick(kStreamsPerThread));
    arrays_.push_back(std::move(a));
  }

  void FreeArray(size_t i) {
    Array& a = arrays_[i];
    if (Pick(3) == 0) CheckCells(a, 0, std::min<size_t>(a.cells, 64));
    if (a.graph != nullptr) {
      // A launch of it may still be held, and the graph must outlive that.
      Check(d_.StreamSynchronize(streams_[a.stream]), "cuStreamSynchronize");
      Check(s_.more.GraphExecDestroy(a.graph), "cuGraphExecDestroy");
      Check(s_.more.GraphDestroy(a.graph_source), "cuGraphDestroy");
    }
    Span(vramspanMemFree(s_.runtime, a.ptr), "vramspanMemFree");
    // With several threads the address may already be somebody else's.
    if (s_.options->threads == 1 && vramspanMemFree(s_.runtime, a.ptr) == CUDA_SUCCESS) {
      throw Failure{"a double free was accepted"};
    }
    if (i != arrays_.size() - 1) std::swap(arrays_[i], arrays_.back());
    arrays_.pop_back();
  }
  void Fill(Array& a) {
    const Slice c = SomeCells(a);
    const Word seed = random_();
    CUdeviceptr words = a.CellAt(c.at);
    size_t count = c.n * kCellWords;
    Word seed_param = seed;
    void* params[] = {&words, &count, &seed_param};
    Begin(a.stream, {RangeOf(a, c, VRAMSPAN_WRITE)});
    Launch(s_.fill_hash, params, count, a.stream);
    End(a.stream);
    for (size_t i = 0; i < c.n; ++i) a.content[c.at + i] = {seed, i * kCellWords, 0, false, true};
  }

  void Add(Array& a) {
    const Slice c = SomeCells(a);
    CUdeviceptr words = a.CellAt(c.at);
    size_t count = c.n * kCellWords;
    Word value = Pick(1000) + 1;
    void* params[] = {&words, &count, &value};
    Begin(a.stream, {RangeOf(a, c, VRAMSPAN_READ | VRAMSPAN_WRITE)});
    Launch(s_.add_constant, params, count, a.stream);
    End(a.stream);
    for (size_t i = 0; i < c.n; ++i) a.content[c.at + i].add += value;
  }

  // `to`'s stream waits for `from`'s, and the other way round afterwards.
  void Order(int before, int after) {
    if (before == after) return;
    Check(d_.EventRecord(event_, streams_[before]), "cuEventRecord");
    Check(d_.StreamWaitEvent(streams_[after], event_, 0), "cuStreamWaitEvent");
  }

  void CopyFrom(Array& to, const Array& from) {
    if (&to == &from) return;
    const size_t n = 1 + Pick(std::min({to.cells, from.cells, kMostCells}));
    const Slice t{Pick(to.cells - n + 1), n}, f{Pick(from.cells - n + 1), n};
    Order(from.stream, to.stream);
    Begin(to.stream, {RangeOf(to, t, VRAMSPAN_WRITE), RangeOf(from, f, VRAMSPAN_READ)});
    if (Pick(2) == 0) {
      CUdeviceptr dst = to.CellAt(t.at), src = from.CellAt(f.at);
      size_t count = n * kCellWords;
      void* params[] = {&dst, &src, &count};
      Launch(s_.copy, params, count, to.stream);
    } else {
      Check(d_.MemcpyDtoDAsync(to.CellAt(t.at), from.CellAt(f.at), n * kCellBytes,
                               streams_[to.stream]),
            "cuMemcpyDtoDAsync");
    }
    End(to.stream);
    Order(to.stream, from.stream);
    for (size_t i = 0; i < n; ++i) to.content[t.at + i] = from.content[f.at + i];
  }

  void Set(Array& a) {
    const Slice c = SomeCells(a);
    const unsigned byte = static_cast<unsigned>(Pick(256));
    Begin(a.stream, {RangeOf(a, c, VRAMSPAN_WRITE)});
    Check(d_.MemsetD8Async(a.CellAt(c.at), static_cast<unsigned char>(byte), c.n * kCellBytes,
                           streams_[a.stream]),
          "cuMemsetD8Async");
    End(a.stream);
    for (size_t i = 0; i < c.n; ++i) {
      a.content[c.at + i] = {0, 0, byte * 0x0101010101010101ull, true, true};
    }
  }

  void Graph(Array& a) {
    if (a.graph == nullptr) {
      const Slice c = SomeCells(a);
      a.graph_at = c.at;
      a.graph_cells = c.n;
      a.graph_add = Pick(1000) + 1;
      CUdeviceptr words = a.CellAt(c.at);
      size_t count = c.n * kCellWords;
      void* params[] = {&words, &count, &a.graph_add};
      CUDA_KERNEL_NODE_PARAMS node{};
      node.func = s_.add_constant;
      node.gridDimX = static_cast<unsigned>((count + 255) / 256);
      node.gridDimY = node.gridDimZ = 1;
      node.blockDimX = 256;
      node.blockDimY = node.blockDimZ = 1;
      node.kernelParams = params;
      CUgraphNode added = nullptr;
      Check(s_.more.GraphCreate(&a.graph_source, 0), "cuGraphCreate");
      Check(s_.more.GraphAddKernelNode(&added, a.graph_source, nullptr, 0, &node),
            "cuGraphAddKernelNode");
      Check(s_.more.GraphInstantiate(&a.graph, a.graph_source, 0), "cuGraphInstantiate");
    }
    const Slice c{a.graph_at, a.graph_cells};
    Begin(a.stream, {RangeOf(a, c, VRAMSPAN_READ | VRAMSPAN_WRITE)});
    Check(s_.more.GraphLaunch(a.graph, streams_[a.stream]), "cuGraphLaunch");
    End(a.stream);
    for (size_t i = 0; i < c.n; ++i) a.content[c.at + i].add += a.graph_add;
  }

  // One of the things that Capture captures, into `stream`.
  void CaptureOne(Array& a, const Array& from, CUstream stream) {
    Slice c = SomeCells(a);
    CUdeviceptr words = a.CellAt(c.at);
    size_t count = c.n * kCellWords;
    const uint64_t what = Pick(&a == &from ? 2 : 4);
    if (what == 0) {
      Word value = Pick(1000) + 1;
      void* params[] = {&words, &count, &value};
      LaunchInto(s_.add_constant, params, count, stream);
      for (size_t i = 0; i < c.n; ++i) a.content[c.at + i].add += value;
    } else if (what == 1) {
      const unsigned byte = static_cast<unsigned>(Pick(256));
      Check(d_.MemsetD8Async(words, static_cast<unsigned char>(byte), c.n * kCellBytes, stream),
            "cuMemsetD8Async, captured");
      for (size_t i = 0; i < c.n; ++i) {
        a.content[c.at + i] = {0, 0, byte * 0x0101010101010101ull, true, true};
      }
    } else {
      c.n = std::min(c.n, from.cells);
      count = c.n * kCellWords;
      const size_t at = Pick(from.cells - c.n + 1);
      CUdeviceptr source = from.CellAt(at);
      if (what == 2) {
        void* params[] = {&words, &source, &count};
        LaunchInto(s_.copy, params, count, stream);
      } else {
        Check(d_.MemcpyDtoDAsync(words, source, c.n * kCellBytes, stream),
              "cuMemcpyDtoDAsync, captured");
      }
      for (size_t i = 0; i < c.n; ++i) a.content[c.at + i] = from.content[at + i];
    }
  }

  // Captures a few things in the array's stream, in part in another that joins the capture, and
  // launches them as a graph that is gone afterwards.
  void Capture(Array& a) {
    Array& from = Some();
    const CUstream stream = streams_[a.stream];
    const int joins = static_cast<int>(Pick(kStreamsPerThread));
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    // Not global: other threads synchronize meanwhile.
    Check(s_.more.BeginCapture(stream, Pick(2) == 0 ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                                    : CU_STREAM_CAPTURE_MODE_RELAXED),
          "cuStreamBeginCapture");
    const vramspanRange all = RangeOf(a, {0, a.cells}, VRAMSPAN_READ | VRAMSPAN_WRITE);
    const vramspanRange read = RangeOf(from, {0, from.cells}, VRAMSPAN_READ);
    Begin(a.stream, {all, read});
    for (uint64_t n = 1 + Pick(3); n > 0; --n) CaptureOne(a, from, stream);
    End(a.stream);
    if (joins != a.stream) {
      Check(d_.EventRecord(event_, stream), "cuEventRecord, captured");
      Check(d_.StreamWaitEvent(streams_[joins], event_, 0), "cuStreamWaitEvent, captured");
      Begin(joins, {all, read});
      CaptureOne(a, from, streams_[joins]);
      End(joins);
      Check(d_.EventRecord(event_, streams_[joins]), "cuEventRecord, captured");
      Check(d_.StreamWaitEvent(stream, event_, 0), "cuStreamWaitEvent, captured");
    }
    Check(s_.more.EndCapture(stream, &graph), "cuStreamEndCapture");
    Order(from.stream, a.stream);
    Begin(a.stream, {all, read});
    Check(s_.more.GraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
    Check(s_.more.GraphLaunch(exec, stream), "cuGraphLaunch");
    End(a.stream);
    Order(a.stream, from.stream);
    Check(d_.StreamSynchronize(stream), "cuStreamSynchronize");
    Check(s_.more.GraphExecDestroy(exec), "cuGraphExecDestroy");
    Check(s_.more.GraphDestroy(graph), "cuGraphDestroy");
  }

  void Upload(Array& a) {
    const Slice c = SomeCells(a);
    const Word seed = random_();
    host_.resize(c.n * kCellWords);
    for (size_t i = 0; i < host_.size(); ++i) host_[i] = HashWord(i, seed);
    Begin(a.stream, {RangeOf(a, c, VRAMSPAN_WRITE)});
    Check(d_.MemcpyHtoDAsync(a.CellAt(c.at), host_.data(), c.n * kCellBytes, streams_[a.stream]),
          "cuMemcpyHtoDAsync");
    End(a.stream);
    // The source is used again by the next upload or check.
    Check(d_.StreamSynchronize(streams_[a.stream]), "cuStreamSynchronize");
    for (size_t i = 0; i < c.n; ++i) a.content[c.at + i] = {seed, i * kCellWords, 0, false, true};
  }

  void CheckSome(Array& a) {
    const Slice c = SomeCells(a);
    CheckCells(a, c.at, c.n);
  }

  void CheckCells(Array& a, size_t at, size_t n) {
    host_.resize(n * kCellWords);
    const Slice c{at, n};
    // A synchronous copy of the legacy stream's would ruin the captures of other threads.
    if (a.stream == 0 && !s_.options->capture && Pick(8) == 0) {
      // The legacy stream does not wait for a non-blocking one.
      Check(d_.StreamSynchronize(streams_[0]), "cuStreamSynchronize");
      const vramspanRange range = RangeOf(a, c, VRAMSPAN_READ);
      const bool declare = s_.options->traced.empty();
      if (declare) {
        Span(vramspanWorkBegin(s_.runtime, nullptr, &range, 1), "vramspanWorkBegin");
      }
      Check(s_.more.MemcpyDtoH(host_.data(), a.CellAt(at), n * kCellBytes), "cuMemcpyDtoH");
      if (declare) Span(vramspanWorkEnd(s_.runtime, nullptr), "vramspanWorkEnd");
    } else {
      Begin(a.stream, {RangeOf(a, c, VRAMSPAN_READ)});
      Check(d_.MemcpyDtoHAsync(host_.data(), a.CellAt(at), n * kCellBytes, streams_[a.stream]),
            "cuMemcpyDtoHAsync");
      End(a.stream);
      Check(d_.StreamSynchronize(streams_[a.stream]), "cuStreamSynchronize");
    }
    for (size_t cell = 0; cell < n; ++cell) {
      const Cell& expected = a.content[at + cell];
      if (!expected.written) continue;
      for (size_t i = 0; i < kCellWords; ++i) {
        if (host_[cell * kCellWords + i] == expected.At(i)) continue;
        char text[256];
        std::snprintf(text, sizeof(text),
                      "wrong word: array 0x%llx of %zu cells, cell %zu word %zu: %llx, not %llx "
                      "(stream %d, operation %llu)",
                      static_cast<unsigned long long>(a.ptr), a.cells, at + cell, i,
                      host_[cell * kCellWords + i], expected.At(i), a.stream,
                      static_cast<unsigned long long>(s_.operations.load()));
        throw Failure{text};
      }
    }
    s_.checked.fetch_add(n, std::memory_order_relaxed);
  }

  void Advise(Array& a) {
    const auto advice = static_cast<vramspanAdvice>(Pick(5));
    Span(vramspanMemAdvise(s_.runtime, a.ptr, a.cells * kCellBytes, advice), "vramspanMemAdvise");
  }

  void Prefetch(Array& a) {
    const Slice c = SomeCells(a);
    Span(vramspanMemPrefetchAsync(s_.runtime, a.CellAt(c.at), c.n * kCellBytes,
                                  Pick(2) == 0 ? VRAMSPAN_LOCATION_DEVICE : VRAMSPAN_LOCATION_HOST,
                                  streams_[a.stream]),
         "vramspanMemPrefetchAsync");
  }

  void SwitchStream(Array& a) {
    const int next = static_cast<int>(Pick(kStreamsPerThread));
    Order(a.stream, next);
    a.stream = next;
  }

  void Pin(Array& a) {
    const Slice c = SomeCells(a);
    const CUresult r = vramspanMemPin(s_.runtime, a.CellAt(c.at), c.n * kCellBytes);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) return;  // Others fill the budget.
    Span(r, "vramspanMemPin");
    vramspanResidency where{};
    Span(vramspanMemResidency(s_.runtime, a.CellAt(c.at), c.n * kCellBytes, &where),
         "vramspanMemResidency");
    if (where.pinned_bytes != c.n * kCellBytes) throw Failure{"a pinned range is not pinned"};
    Span(vramspanMemUnpin(s_.runtime, a.CellAt(c.at), c.n * kCellBytes), "vramspanMemUnpin");
  }

  void Budget() {
    const size_t budget = s_.budget / 2 + Pick(s_.budget);
    Span(vramspanSetDeviceBudget(s_.runtime, budget), "vramspanSetDeviceBudget");
  }

  void Small() {
    CUdeviceptr p[8];
    for (CUdeviceptr& q : p) Span(vramspanMemAlloc(s_.runtime, &q, 1 + Pick(5000)), "alloc");
    for (CUdeviceptr q : p) Span(vramspanMemFree(s_.runtime, q), "free");
  }

  Shared& s_;
  const vramspan::DriverApi& d_;
  std::mt19937_64 random_;
  CUstream streams_[kStreamsPerThread] = {};
  CUevent event_ = nullptr;
  int open_ = -1;  // The stream of the open scope.
  std::vector<Array> arrays_;
  size_t hot_ = 0;
  std::vector<Word> host_;
};

}  // namespace

void Work(Shared& shared, int index) { Worker(shared, index).Run(); }

}  // namespace vramspan_test::torture
