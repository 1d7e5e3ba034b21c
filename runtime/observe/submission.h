// What one call of the program submits to the GPU, as far as the call itself says: the stream, and
// the memory it names. Knows nothing of chunks.
//
// Pure values. A Submission is filled again and again: Clear keeps its memory, so that a thread
// that has submitted once allocates no more.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_SUBMISSION_H_
#define VRAMSPAN_RUNTIME_OBSERVE_SUBMISSION_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/mix.h"
#include "runtime/base/trust.h"
#include "runtime/base/units.h"
#include "runtime/observe/parameters.h"

namespace vramspan {

// How a submission comes to a piece of memory.
enum class Via : uint8_t {
  kCall,     // The call names it.
  kTable,    // A pointer in memory that the call names leads to it.
  kGlobal,   // A pointer in memory that every kernel can reach leads to it: whether this one goes
             // there is not known.
  kEncoded,  // The call may name it in another form (encoded_addresses.h): whether it does is not
             // known.
};

struct KernelCode;
struct NodeWork;

// A piece of memory that a submission names, or leads to.
struct Touch {
  DevicePtr ptr;
  Bytes size;          // 0: a pointer of a kernel, of which only the start is known.
  bool write = true;   // False only where the call itself says so.
  bool linear = true;  // Size is given: every byte is touched, once. False: a piece may be skipped.
  uint16_t slot = 0;   // Of a kernel: which 8 bytes of the parameters held it; else 0.
  Via via = Via::kCall;
};

// Memory that is copied to the device, and may hold pointers. Whose memory it is the call does not
// always say: what cannot be read by the CPU, the driver copies all the same. Read it only in a way
// that survives that.
struct HostCopy {
  const void* source = nullptr;
  DevicePtr target;
  Bytes size;
};

// Memory that one copy from the host fills.
struct Upload {
  DevicePtr target;
  Bytes size;
};

struct Submission {
  enum class Kind : uint8_t {
    kKernel,
    kCopy,  // Also fills, and what streams write and wait for.
    kGraph,
    kUnknown,  // Submits work whose memory nobody can tell.
  };

  static constexpr size_t kMostWords = 8;

  Kind kind = Kind::kUnknown;
  // As the call has it, but a per-thread variant's null stream is CU_STREAM_PER_THREAD, and
  // CU_STREAM_LEGACY is null.
  CUstream stream = nullptr;
  // What is launched: the CUkernel, CUfunction or CUgraphExec; the same for every launch of it.
  const void* code = nullptr;
  uint64_t shape = 0;  // Of a kernel: a hash of its grid and blocks.
  // Of a kernel: the same, but of about how large the grid is.
  uint64_t rough_shape = 0;
  // Of a kernel: a hash of its parameters, but for what the pointers among them are. The same code
  // launched in the same shape with the same numbers most likely touches as much from each pointer.
  uint64_t numbers = 0;
  // Of a kernel: what `numbers` is the hash of, eight bytes each; none of more than kMostWords.
  std::vector<uint64_t> words;
  // Of a kernel: all that it is given but for pointers. The same in every process.
  uint64_t given() const { return Mix(shape, numbers); }
  // Of a kernel. Good while the call is.
  Parameters parameters;
  // Of a kernel; lives as long as the process. Null of all else.
  const KernelCode* kernel = nullptr;
  // How far its code is trusted; of a graph's kernels the least, and of neither all there is.
  Trust trust = Trust::kArrays;
  // Not all of its memory can be told: a graph with nodes of unknown contents, a device-side
  // launch.
  bool incomplete = false;
  Bytes scanned;  // Of parameters and host memory, looked through for addresses.
  std::vector<Touch> touches;
  std::vector<HostCopy> host_copies;
  std::vector<Upload> uploads;  // Of a call itself; a graph's are none.
  // Of a graph: its kernels whose code nothing proves. One may come twice.
  std::vector<const KernelCode*> unproven;
  // Of a graph: what its nodes do, if their parameters may hold addresses in other forms.
  std::shared_ptr<const NodeWork> graph;
  bool waits = false;  // The call returns when the work is done.

  void Clear() {
    kind = Kind::kUnknown;
    waits = false;
    stream = nullptr;
    code = nullptr;
    shape = rough_shape = 0;
    numbers = 0;
    words.clear();
    parameters = {};
    kernel = nullptr;
    trust = Trust::kArrays;
    incomplete = false;
    scanned = Bytes(0);
    touches.clear();
    host_copies.clear();
    uploads.clear();
    unproven.clear();
    graph.reset();
  }
};

// What a call waits for: all work of a context, what is before an event, or in a stream.
enum class WaitsFor : uint8_t { kAll, kEvent, kStream };

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_SUBMISSION_H_
