// One thread of the torture: what it does, and the slot whose memory it does it on. Threads come
// and go; a slot stays, and so do its arrays and streams. With --lax a thread ends with work in its
// own default stream under way: the next one of the slot goes on with those arrays in another
// stream, which waits for that by an event. Its own default stream waits for nothing.
#ifndef VRAMSPAN_TESTS_HOSTILE_TORTURE_WORKER_H_
#define VRAMSPAN_TESTS_HOSTILE_TORTURE_WORKER_H_

#include <cuda.h>

#include <random>
#include <vector>

#include "tests/hostile/torture/model.h"
#include "tests/hostile/torture/program.h"

namespace torture {

constexpr int kLanes = 4;
constexpr int kOwn = 0;              // The thread's default stream.
constexpr int kCaptured = 1;         // A non-blocking one, the only one that is captured.
constexpr size_t kBufferCells = 16;  // The most that one operation touches.

// A checksum that the device was asked for.
struct Asked {
  size_t word = 0;  // In `answers`.
  Word expected = 0;
};

struct Slot {
  std::mt19937_64 random;
  CUstream lanes[kLanes] = {};
  CUevent left = nullptr;  // Behind what the last thread's default stream was given.
  CUevent order = nullptr;
  CUevent copied = nullptr;  // Behind the last use of `buffer`.
  CUmemoryPool pool = nullptr;
  std::vector<Array> arrays;
  size_t hot = 0;
  Word* buffer = nullptr;   // Page-locked.
  Word* answers = nullptr;  // Likewise; 64 words.
  CUdeviceptr answers_address = 0;
  std::vector<Asked> asked;
};

class Worker {
 public:
  Worker(Program& program, Slot& slot) : program_(program), s_(slot) {}

  void MakeSlot();  // By the slot's first thread.
  void Begin();     // By each thread.
  void Step();
  void End();
  void CheckAll();
  void FreeSlot();  // By the slot's last thread; nothing of it is left.
  void Abandon();   // Instead, before a reset: what the context does not own goes, work is left.

 private:
  uint64_t Pick(uint64_t n) { return s_.random() % n; }
  Array& Some();
  Slice SomeCells(const Array& a);
  Slice CellsUpTo(const Array& a, size_t most);
  size_t Live() const;
  CUstream StreamOf(const Array& a) const { return s_.lanes[a.lane]; }
  void Order(CUstream before, CUstream after);
  static void Know(Array& a, Slice c, const Cell& first);
  static void Forget(Array& a, Slice c);
  bool Launch(CUfunction f, void** parameters, size_t words, CUstream stream);

  // worker.cc: work on memory, and checks.
  void Fill(Array& a);
  void Add(Array& a);
  void AddSlowly(Array& a);
  void Burst(Array& a);
  void Set(Array& a);
  void CopyFrom(Array& to, const Array& from);
  void Upload(Array& a);
  void UploadByHost(Array& a);
  void Check(Array& a, Slice c);
  void Ask(Array& a);
  void ReadAnswers();
  void SynchronizeContext();
  void Compare(const Array& a, Slice c, const Word* words);

  // worker_objects.cc: streams, events, other threads, graphs.
  void ChangeLane(Array& a);
  void RemakeLane();
  void Wait();
  void Give();
  void Take();
  void Fork();
  void LaunchGraph(Array& a);
  bool MakeGraph(Array& a);
  void UpdateGraph(Array& a);
  void DropGraph(Array& a);
  void Capture(Array& a);

  // worker_memory.cc: kinds of memory.
  void Make();
  bool MakePool(Array& a, size_t cells);
  bool MakeVmm(Array& a, size_t pieces);
  bool AddPiece(Array& a);
  void Shrink(Array& a);
  void MakeAlias(Array& a);
  void DropAlias(Array& a);
  void RemakePool();
  void DropPool();
  void Free(size_t i);

  Program& program_;
  Slot& s_;
};

}  // namespace torture

#endif  // VRAMSPAN_TESTS_HOSTILE_TORTURE_WORKER_H_
