#include "tests/hostile/torture/worker.h"

#include <algorithm>
#include <cstdio>

#include "tests/kernels/test_kernels.h"

namespace torture {
namespace {

using vramspan_test::HashWord;

constexpr size_t kAnswers = 64;

// What a host function fills, and by what.
struct HostFill {
  Word* words = nullptr;
  size_t count = 0;
  Word seed = 0;
};

void FillOnHost(void* user) {
  const auto* const fill = static_cast<HostFill*>(user);
  for (size_t i = 0; i < fill->count; ++i) fill->words[i] = HashWord(i, fill->seed);
  delete fill;
}

}  // namespace

// Mostly a few arrays in use, now and then any: a working set that drifts.
Array& Worker::Some() {
  if (Pick(300) == 0) s_.hot = Pick(s_.arrays.size());
  const size_t i = Pick(40) == 0 ? Pick(s_.arrays.size()) : s_.hot + Pick(3);
  return s_.arrays[i % s_.arrays.size()];
}

Slice Worker::CellsUpTo(const Array& a, size_t most) {
  const size_t n = 1 + Pick(std::min(a.cells(), most));
  return {Pick(a.cells() - n + 1), n};
}
Slice Worker::SomeCells(const Array& a) { return CellsUpTo(a, kBufferCells); }

size_t Worker::Live() const {
  size_t bytes = 0;
  for (const Array& a : s_.arrays) bytes += a.bytes();
  return bytes;
}

void Worker::Order(CUstream before, CUstream after) {
  if (before == after) return;
  MUST(cuEventRecord(s_.order, before));
  MUST(cuStreamWaitEvent(after, s_.order, 0));
}

// The cells go on from the first.
void Worker::Know(Array& a, Slice c, const Cell& first) {
  for (size_t i = 0; i < c.cells; ++i) {
    Cell& cell = a.content[c.at + i];
    cell = first;
    cell.first += i * kCellWords;
    cell.known = true;
  }
}
void Worker::Forget(Array& a, Slice c) {
  for (size_t i = 0; i < c.cells; ++i) a.content[c.at + i].known = false;
}

bool Worker::Launch(CUfunction f, void** parameters, size_t words, CUstream stream) {
  const auto blocks = static_cast<unsigned>((words + 255) / 256);
  const CUresult r =
      Pick(8) == 0 ? cuLaunchCooperativeKernel(f, 1, 1, 1, 256, 1, 1, 0, stream, parameters)
                   : cuLaunchKernel(f, blocks, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);
  return Done(program_, r, "cuLaunchKernel");
}

void Worker::Fill(Array& a) {
  const Slice c = SomeCells(a);
  Word seed = s_.random();
  CUdeviceptr words = a.CellAt(c.at);
  size_t count = c.cells * kCellWords;
  void* parameters[] = {&words, &count, &seed};
  Forget(a, c);
  if (Launch(program_.fill_hash, parameters, count, StreamOf(a))) Know(a, c, {.seed = seed});
}

void Worker::Add(Array& a) {
  Slice c = SomeCells(a);
  CUdeviceptr words = a.CellAt(c.at);
  if (a.alias.ptr != 0 && Pick(2) == 0) {
    // By the second mapping of the same memory.
    size_t before = 0;
    for (size_t i = 0; i < a.alias.piece; ++i) before += a.pieces[i].bytes / kCellBytes;
    const size_t cells = a.pieces[a.alias.piece].bytes / kCellBytes;
    c.cells = 1 + Pick(std::min(cells, kBufferCells));
    const size_t at = Pick(cells - c.cells + 1);
    c.at = before + at;
    words = a.alias.ptr + at * kCellBytes;
  }
  size_t count = c.cells * kCellWords;
  Word value = Pick(1000) + 1;
  void* parameters[] = {&words, &count, &value};
  if (Launch(program_.add_constant, parameters, count, StreamOf(a))) {
    for (size_t i = 0; i < c.cells; ++i) a.content[c.at + i].add += value;
  } else {
    Forget(a, c);
  }
}

// For some milliseconds: what is moved meanwhile loses words.
void Worker::AddSlowly(Array& a) {
  const Slice c = SomeCells(a);
  CUdeviceptr words = a.CellAt(c.at);
  size_t count = c.cells * kCellWords;
  Word value = Pick(1000) + 1;
  auto pause = static_cast<unsigned>(Pick(5000000));
  void* parameters[] = {&words, &count, &value, &pause};
  if (Done(program_,
           cuLaunchKernel(program_.slow_add, 1, 1, 1, 1, 1, 1, 0, StreamOf(a), parameters, nullptr),
           "cuLaunchKernel")) {
    for (size_t i = 0; i < c.cells; ++i) a.content[c.at + i].add += value;
  } else {
    Forget(a, c);
  }
}

// Many launches in flight on the same memory.
void Worker::Burst(Array& a) {
  const Slice c{Pick(a.cells()), 1};
  CUdeviceptr words = a.CellAt(c.at);
  size_t count = 1 + Pick(8);
  Word value = 1;
  void* parameters[] = {&words, &count, &value};
  Forget(a, c);
  for (uint64_t n = Pick(400); n > 0; --n) {
    if (!Launch(program_.add_constant, parameters, count, StreamOf(a))) return;
  }
}

void Worker::Set(Array& a) {
  const Slice c = SomeCells(a);
  const auto byte = static_cast<unsigned char>(Pick(256));
  Forget(a, c);
  if (Done(program_, cuMemsetD8Async(a.CellAt(c.at), byte, c.cells * kCellBytes, StreamOf(a)),
           "cuMemsetD8Async")) {
    Know(a, c, {.add = byte * 0x0101010101010101ull, .plain = true});
  }
}

void Worker::CopyFrom(Array& to, const Array& from) {
  if (&to == &from) return;
  const size_t n = 1 + Pick(std::min({to.cells(), from.cells(), kBufferCells}));
  const Slice t{Pick(to.cells() - n + 1), n}, f{Pick(from.cells() - n + 1), n};
  Order(StreamOf(from), StreamOf(to));
  CUdeviceptr target = to.CellAt(t.at), source = from.CellAt(f.at);
  size_t count = n * kCellWords;
  Forget(to, t);
  bool done = false;
  if (Pick(2) == 0) {
    void* parameters[] = {&target, &source, &count};
    done = Launch(program_.copy, parameters, count, StreamOf(to));
  } else {
    done = Done(program_, cuMemcpyDtoDAsync(target, source, n * kCellBytes, StreamOf(to)),
                "cuMemcpyDtoDAsync");
  }
  Order(StreamOf(to), StreamOf(from));
  if (!done) return;
  for (size_t i = 0; i < n; ++i) to.content[t.at + i] = from.content[f.at + i];
}

void Worker::Upload(Array& a) {
  const Slice c = SomeCells(a);
  const Word seed = s_.random();
  std::vector<Word> words(c.cells * kCellWords);
  for (size_t i = 0; i < words.size(); ++i) words[i] = HashWord(i, seed);
  Forget(a, c);
  if (Done(program_,
           cuMemcpyHtoDAsync(a.CellAt(c.at), words.data(), c.cells * kCellBytes, StreamOf(a)),
           "cuMemcpyHtoDAsync")) {
    Know(a, c, {.seed = seed});
  }
  MUST(cuStreamSynchronize(StreamOf(a)));
}

// A host function fills the buffer, and a copy behind it takes that to the device.
void Worker::UploadByHost(Array& a) {
  const Slice c = SomeCells(a);
  const Word seed = s_.random();
  MUST(cuEventSynchronize(s_.copied));
  auto* const fill = new HostFill{s_.buffer, c.cells * kCellWords, seed};
  Forget(a, c);
  // Where it is refused nobody knows whether it runs, so `fill` is left to it.
  if (Done(program_, cuLaunchHostFunc(StreamOf(a), FillOnHost, fill), "cuLaunchHostFunc") &&
      Done(program_,
           cuMemcpyHtoDAsync(a.CellAt(c.at), s_.buffer, c.cells * kCellBytes, StreamOf(a)),
           "cuMemcpyHtoDAsync")) {
    Know(a, c, {.seed = seed});
  }
  MUST(cuEventRecord(s_.copied, StreamOf(a)));
}

void Worker::Check(Array& a, Slice c) {
  const size_t bytes = c.cells * kCellBytes;
  if (Pick(3) == 0) {
    MUST(cuStreamSynchronize(StreamOf(a)));
    std::vector<Word> words(c.cells * kCellWords);
    {
      const std::lock_guard<std::shared_mutex> lock(program_.capturing);
      MUST(cuMemcpyDtoH(words.data(), a.CellAt(c.at), bytes));
    }
    return Compare(a, c, words.data());
  }
  MUST(cuEventSynchronize(s_.copied));
  MUST(cuMemcpyDtoHAsync(s_.buffer, a.CellAt(c.at), bytes, StreamOf(a)));
  MUST(cuEventRecord(s_.copied, StreamOf(a)));
  MUST(cuEventSynchronize(s_.copied));
  Compare(a, c, s_.buffer);
}

void Worker::Compare(const Array& a, Slice c, const Word* words) {
  for (size_t cell = 0; cell < c.cells; ++cell) {
    const Cell& expected = a.content[c.at + cell];
    if (!expected.known) continue;
    for (size_t i = 0; i < kCellWords; ++i) {
      if (words[cell * kCellWords + i] == expected.At(i)) continue;
      char text[256];
      std::snprintf(text, sizeof(text),
                    "wrong word: %s array 0x%llx of %zu cells, cell %zu word %zu: %llx, not %llx "
                    "(lane %d, operation %llu)",
                    a.kind == Kind::kPlain  ? "plain"
                    : a.kind == Kind::kPool ? "pool"
                                            : "mapped",
                    static_cast<unsigned long long>(a.ptr), a.cells(), c.at + cell, i,
                    words[cell * kCellWords + i], expected.At(i), a.lane,
                    static_cast<unsigned long long>(program_.operations.load()));
      throw Failure{text};
    }
  }
  program_.checked.fetch_add(c.cells, std::memory_order_relaxed);
}

// The device folds cells into a word of the host's, which is looked at later.
void Worker::Ask(Array& a) {
  const Slice c = SomeCells(a);
  for (size_t i = 0; i < c.cells; ++i) {
    if (!a.content[c.at + i].known) return;
  }
  if (s_.asked.size() == kAnswers) ReadAnswers();
  const size_t word = s_.asked.size();
  s_.answers[word] = 0;
  Word expected = 0;
  for (size_t i = 0; i < c.cells * kCellWords; ++i) {
    expected ^= HashWord(i, a.content[c.at + i / kCellWords].At(i % kCellWords));
  }
  CUdeviceptr words = a.CellAt(c.at), answer = s_.answers_address + word * sizeof(Word);
  size_t count = c.cells * kCellWords;
  void* parameters[] = {&words, &count, &answer};
  if (!Launch(program_.checksum, parameters, count, StreamOf(a))) {
    return ReadAnswers();  // It may have run: its word is used again only after all have ended.
  }
  s_.asked.push_back({word, expected});
}

void Worker::ReadAnswers() {
  for (const CUstream lane : s_.lanes) MUST(cuStreamSynchronize(lane));
  SynchronizeContext();  // Work of arrays that have gone to other threads since.
  for (const Asked& asked : s_.asked) {
    if (static_cast<volatile Word*>(s_.answers)[asked.word] == asked.expected) continue;
    throw Failure{"a kernel read other words than were written (checksum)"};
  }
  program_.checked.fetch_add(s_.asked.size(), std::memory_order_relaxed);
  s_.asked.clear();
}

void Worker::SynchronizeContext() {
  const std::lock_guard<std::shared_mutex> lock(program_.capturing);
  MUST(cuCtxSynchronize());
}

void Worker::CheckAll() {
  ReadAnswers();
  for (Array& a : s_.arrays) {
    for (size_t at = 0; at < a.cells(); at += kBufferCells) {
      Check(a, {at, std::min(kBufferCells, a.cells() - at)});
    }
  }
}

void Worker::Step() {
  Disturb(program_, s_.random());
  const size_t share = program_.options.bytes / static_cast<size_t>(program_.options.threads);
  if (s_.arrays.size() < 3 || (Live() < share && Pick(20) == 0)) Make();
  if (s_.arrays.empty()) return Wait();  // No memory at all just now.
  if (Live() > share || Pick(200) == 0) return Free(Pick(s_.arrays.size()));
  Array& a = Some();
  const uint64_t what = Pick(1000);
  if (what < 200) return Fill(a);
  if (what < 420) return Add(a);
  if (what < 500) return Set(a);
  if (what < 620) return CopyFrom(a, Some());
  if (what < 660) return Upload(a);
  if (what < 700) return UploadByHost(a);
  if (what < 770) return Check(a, SomeCells(a));
  if (what < 810) return Ask(a);
  if (what < 840) return ChangeLane(a);
  if (what < 846) return RemakeLane();
  if (what < 866) return Wait();
  if (what < 880) return Give();
  if (what < 900) return Take();
  if (what < 903) return Burst(a);
  if (what < 906) return AddSlowly(a);
  if (what < 945) return LaunchGraph(a);
  if (what < 955) return Capture(a);
  if (what < 975) return MakeAlias(a);
  if (what < 985) return DropAlias(a);
  if (what < 992) return Shrink(a);
  if (what < 998) return a.kind == Kind::kVmm ? void(AddPiece(a)) : Add(a);
  if (what < 999) return RemakePool();
  if (Pick(20) == 0) Fork();
}

}  // namespace torture
