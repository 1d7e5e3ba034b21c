// Memory that knows what it should hold, and kernels that read it: fills pieces of one endless
// sequence, reads them at the speed of memory, and tells whether a pass read what it should.
//
// Threads: one. All work goes to the stream it was made for.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_READER_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_READER_H_

#include <cstdint>
#include <vector>

#include "bench/workloads/machine.h"

namespace vramspan::bench {

// Some bytes of the sequence, and where they lie.
struct Piece {
  CUdeviceptr ptr = 0;
  size_t offset = 0;  // In the sequence, of bytes; a multiple of 16, as is the size.
  size_t bytes = 0;
};

// `bytes` at `ptr`, the sequence from its start, in `count` pieces.
std::vector<Piece> Cut(CUdeviceptr ptr, size_t bytes, size_t count);

class Reader {
 public:
  static constexpr int kMostPasses = 64;

  // `small`: few threads, for drivers that run one after the other.
  Reader(Machine& machine, CUstream stream, bool small);

  void Fill(const Piece& piece) const;
  // Adds to the sum of pass `pass` what the piece holds, read `times` times over.
  void Read(const Piece& piece, int pass, unsigned times = 1) const;
  // Before the passes of a run.
  void Clear() const;
  // After them: what each of the first `passes` has read. Waits for the stream.
  std::vector<uint64_t> Sums(int passes) const;

  size_t sums_bytes() const { return kMostPasses * threads() * sizeof(uint64_t); }
  // While it lives the sums are kept at `sums`, which has `sums_bytes()`. A program all of whose
  // memory is a runtime's has them there, too: an address of other memory is a number to a tracer.
  class SumsAt {
   public:
    SumsAt(Reader& reader, CUdeviceptr sums) : reader_(reader), before_(reader.sums_) {
      reader.sums_ = sums;
    }
    ~SumsAt() { reader_.sums_ = before_; }
    SumsAt(const SumsAt&) = delete;
    SumsAt& operator=(const SumsAt&) = delete;

   private:
    Reader& reader_;
    const CUdeviceptr before_;
  };

 private:
  size_t threads() const { return blocks_ * threads_; }

  Machine& machine_;
  const CUstream stream_;
  const size_t blocks_;
  const unsigned threads_;
  CUfunction fill_, read_;
  CUdeviceptr sums_;
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_READER_H_
