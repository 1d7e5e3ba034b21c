// Memory of all kinds: cuMemAlloc, pools, and what the program maps itself.
#include <unistd.h>

#include <algorithm>

#include "tests/hostile/torture/worker.h"

namespace torture {
namespace {

constexpr size_t kMostPieces = 4;

CUmemAllocationProp Properties(const Program& program, bool exportable) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, program.device};
  properties.requestedHandleTypes =
      exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  return properties;
}

CUmemAccessDesc Access(const Program& program) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, program.device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

}  // namespace

void Worker::Make() {
  const Options& o = program_.options;
  static constexpr size_t kParts[] = {2500, 800, 160, 25, 16, 10, 8, 5, 4, 3, 2, 1};
  const size_t cells =
      std::max<size_t>(1, o.largest / kParts[Pick(std::size(kParts))] / kCellBytes);
  Array a;
  a.lane = static_cast<int>(Pick(kLanes));
  const uint64_t kind = Pick(6);
  bool made = false;
  if (kind == 0 && o.vmm) {
    made = MakeVmm(a, 1 + Pick(kMostPieces - 1));
  } else if (kind == 1 && o.pools) {
    made = MakePool(a, cells);
  } else {
    // Odd sizes too: the bytes past the last whole cell are never touched.
    made = Done(program_, cuMemAlloc(&a.ptr, cells * kCellBytes + Pick(2) * Pick(kCellBytes)),
                "cuMemAlloc", true);
    if (made && a.ptr % 256 != 0) throw Failure{"cuMemAlloc: not aligned to 256 bytes"};
    a.content.resize(made ? cells : 0);
  }
  if (made) {
    s_.arrays.push_back(std::move(a));
    return;
  }
  ++program_.refused;
  if (!s_.arrays.empty()) Free(Pick(s_.arrays.size()));
}

bool Worker::MakePool(Array& a, size_t cells) {
  a.kind = Kind::kPool;
  const CUresult r = s_.pool != nullptr && Pick(2) == 0
                         ? cuMemAllocFromPoolAsync(&a.ptr, cells * kCellBytes, s_.pool, StreamOf(a))
                         : cuMemAllocAsync(&a.ptr, cells * kCellBytes, StreamOf(a));
  if (!Done(program_, r, "cuMemAllocAsync", true)) return false;
  a.content.resize(cells);
  return true;
}

bool Worker::MakeVmm(Array& a, size_t pieces) {
  a.kind = Kind::kVmm;
  a.exportable = Pick(3) == 0;
  a.reserved = kMostPieces * program_.granularity;
  if (!Done(program_, cuMemAddressReserve(&a.ptr, a.reserved, 0, 0, 0), "cuMemAddressReserve",
            true)) {
    return false;
  }
  for (size_t i = 0; i < pieces; ++i) AddPiece(a);
  if (!a.pieces.empty()) return true;
  MUST(cuMemAddressFree(a.ptr, a.reserved));
  return false;
}

// One more piece of memory behind the last.
bool Worker::AddPiece(Array& a) {
  if (a.pieces.size() == kMostPieces) return false;
  const CUmemAllocationProp properties = Properties(program_, a.exportable);
  const CUmemAccessDesc access = Access(program_);
  Piece piece{0, program_.granularity};
  if (!Done(program_, cuMemCreate(&piece.handle, piece.bytes, &properties, 0), "cuMemCreate",
            true)) {
    return false;
  }
  const CUdeviceptr at = a.ptr + a.bytes();
  if (!Done(program_, cuMemMap(at, piece.bytes, 0, piece.handle, 0), "cuMemMap", true)) {
    MUST(cuMemRelease(piece.handle));
    return false;
  }
  MUST(cuMemSetAccess(at, piece.bytes, &access, 1));
  a.pieces.push_back(piece);
  a.content.resize(a.content.size() + piece.bytes / kCellBytes);
  return true;
}

// Without its last piece.
void Worker::Shrink(Array& a) {
  if (a.pieces.size() < 2) return;
  if (a.alias.piece == a.pieces.size() - 1) DropAlias(a);
  DropGraph(a);
  MUST(cuStreamSynchronize(StreamOf(a)));
  const Piece piece = a.pieces.back();
  a.pieces.pop_back();
  a.content.resize(a.content.size() - piece.bytes / kCellBytes);
  MUST(cuMemUnmap(a.ptr + a.bytes(), piece.bytes));
  MUST(cuMemRelease(piece.handle));
}

// A second mapping of a piece: of its handle, or of the handle that its descriptor gives. Work goes
// on meanwhile.
void Worker::MakeAlias(Array& a) {
  if (a.kind != Kind::kVmm || a.alias.ptr != 0) return;
  Alias alias{0, Pick(a.pieces.size())};
  const Piece& piece = a.pieces[alias.piece];
  CUmemGenericAllocationHandle handle = piece.handle;
  if (a.exportable) {
    int fd = -1;
    if (!Done(program_,
              cuMemExportToShareableHandle(&fd, piece.handle,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              "cuMemExportToShareableHandle", true)) {
      return;
    }
    const bool imported =
        Done(program_,
             cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{fd}),
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
             "cuMemImportFromShareableHandle", true);
    close(fd);
    if (!imported) return;
  }
  const CUmemAccessDesc access = Access(program_);
  bool mapped = false;
  if (Done(program_, cuMemAddressReserve(&alias.ptr, piece.bytes, 0, 0, 0), "cuMemAddressReserve",
           true)) {
    mapped =
        Done(program_, cuMemMap(alias.ptr, piece.bytes, 0, handle, 0), "cuMemMap, again", true);
    if (mapped) {
      MUST(cuMemSetAccess(alias.ptr, piece.bytes, &access, 1));
      a.alias = alias;
    } else {
      MUST(cuMemAddressFree(alias.ptr, piece.bytes));
    }
  }
  // The mapping keeps the memory.
  if (a.exportable) MUST(cuMemRelease(handle));
}

void Worker::DropAlias(Array& a) {
  if (a.alias.ptr == 0) return;
  const size_t bytes = a.pieces[a.alias.piece].bytes;
  MUST(cuStreamSynchronize(StreamOf(a)));
  MUST(cuMemUnmap(a.alias.ptr, bytes));
  MUST(cuMemAddressFree(a.alias.ptr, bytes));
  a.alias = {};
}

// What was taken from it lives on until it is freed.
void Worker::DropPool() {
  if (s_.pool == nullptr) return;
  if (program_.options.lax) {
    MUST(cuMemPoolDestroy(s_.pool));
  } else {
    const std::lock_guard<std::mutex> lock(program_.mu);
    program_.old_pools.push_back(s_.pool);
  }
  s_.pool = nullptr;
}

void Worker::RemakePool() {
  if (!program_.options.pools) return;
  DropPool();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, program_.device};
  if (!Done(program_, cuMemPoolCreate(&s_.pool, &properties), "cuMemPoolCreate", true)) {
    s_.pool = nullptr;
  }
}

void Worker::Free(size_t i) {
  Array& a = s_.arrays[i];
  if (Pick(3) == 0) Check(a, CellsUpTo(a, kBufferCells));
  DropGraph(a);
  if (a.kind == Kind::kVmm) {
    DropAlias(a);
    MUST(cuStreamSynchronize(StreamOf(a)));
    MUST(cuMemUnmap(a.ptr, a.bytes()));
    for (const Piece& piece : a.pieces) MUST(cuMemRelease(piece.handle));
    MUST(cuMemAddressFree(a.ptr, a.reserved));
  } else if (a.kind == Kind::kPool && Pick(4) != 0) {
    MUST(cuMemFreeAsync(a.ptr, StreamOf(a)));
  } else {
    if (a.kind == Kind::kPool) MUST(cuStreamSynchronize(StreamOf(a)));
    MUST(cuMemFree(a.ptr));
  }
  if (i != s_.arrays.size() - 1) std::swap(a, s_.arrays.back());
  s_.arrays.pop_back();
}

}  // namespace torture
