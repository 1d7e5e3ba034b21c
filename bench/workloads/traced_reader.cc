#include "bench/workloads/traced_reader.h"

#include <numeric>

#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(traced_kernels);

namespace vramspan::bench {
namespace {

constexpr size_t kPair = 16;

}  // namespace

std::vector<Piece> Cut(CUdeviceptr ptr, size_t bytes, size_t count) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < count; ++i) {
    const size_t from = bytes / kPair * i / count * kPair;
    const size_t to = bytes / kPair * (i + 1) / count * kPair;
    pieces.push_back({ptr + from, from, to - from});
  }
  return pieces;
}

// Four blocks a multiprocessor of an H100 fill its memory's bandwidth, and leave few sums.
Reader::Reader(Machine& machine, CUstream stream, bool small)
    : machine_(machine), stream_(stream), blocks_(small ? 4 : 528), threads_(small ? 32 : 256) {
  const CUmodule module = machine.LoadModule(traced_kernels_images());
  fill_ = machine.Function(module, "fill_pairs");
  read_ = machine.Function(module, "read_pairs");
  sums_ = machine.Allocate(sums_bytes());
}

void Reader::Fill(const Piece& piece) const {
  CUdeviceptr data = piece.ptr;
  size_t count = piece.bytes / kPair;
  size_t first = piece.offset / kPair;
  machine_.Launch(fill_, blocks_, threads_, stream_, {&data, &count, &first});
}

void Reader::Read(const Piece& piece, int pass, unsigned times) const {
  CUdeviceptr data = piece.ptr;
  size_t count = piece.bytes / kPair;
  size_t first = piece.offset / kPair;
  CUdeviceptr sums = sums_ + static_cast<size_t>(pass) * threads() * sizeof(uint64_t);
  machine_.Launch(read_, blocks_, threads_, stream_, {&data, &count, &first, &times, &sums});
}

void Reader::Clear() const {
  machine_.Check(machine_.api().MemsetD8Async(sums_, 0, sums_bytes(), stream_), "cuMemsetD8Async");
}

std::vector<uint64_t> Reader::Sums(int passes) const {
  std::vector<uint64_t> words(static_cast<size_t>(passes) * threads());
  machine_.Check(
      machine_.api().MemcpyDtoHAsync(words.data(), sums_, words.size() * sizeof(words[0]), stream_),
      "cuMemcpyDtoHAsync");
  machine_.Synchronize(stream_);
  std::vector<uint64_t> sums;
  for (auto row = words.begin(); row != words.end(); row += static_cast<ptrdiff_t>(threads())) {
    sums.push_back(std::accumulate(row, row + static_cast<ptrdiff_t>(threads()), uint64_t{0}));
  }
  return sums;
}

}  // namespace vramspan::bench
