// PyTorch execution traces as recorded runs: "what if I had half the memory", asked of a program
// that our tracer never saw. ExecutionTraceObserver (torch.profiler) writes them; they name, for
// each operator that was called, its tensors with storage, offset and size.
//
// Storages become allocations. The trace names them by address, so an id stands for one memory
// after another: a new one begins where an operator gives back a storage that it was not given and
// that nothing within it named before. What is there before its first such moment was allocated
// before the trace began. Nothing says when memory is freed: it is, here, after its last use, so
// the peak is that of what is still needed, not that of what the allocator kept.
//
// An operator with tensors on a GPU becomes work if nothing that it called is work and it is no
// view and no allocation: what calls the kernels is mostly the innermost. Where a profile of the
// run is given, work is just what has kernels there. Inputs are read, outputs are written, and so
// are inputs that the operator's schema marks as changed. Memory that no tensor names (workspaces
// of libraries, memory of other programs) is not seen.
//
// Without a profile times are an estimate (estimated_times.h), and said to be one: by the bytes
// that an operator names, or by its multiplications (matrix products, convolutions, attention)
// where they take longer at 400 TFLOP/s, 100 for types of 4 bytes and 30 for those of 8.
#ifndef VRAMSPAN_TOOLS_REPLAY_IMPORT_PYTORCH_H_
#define VRAMSPAN_TOOLS_REPLAY_IMPORT_PYTORCH_H_

#include <cstdint>
#include <optional>
#include <streambuf>
#include <string>

#include "tools/replay/pytorch_profile.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// How the import adds up: nodes = works + views + parents + elsewhere.
struct PytorchSummary {
  uint64_t nodes = 0;
  uint64_t works = 0;
  uint64_t views = 0;         // Touch no memory: views, allocations, wrappers.
  uint64_t parents = 0;       // What they called is the work.
  uint64_t elsewhere = 0;     // No tensors on the GPU.
  uint64_t tensors = 0;       // Mentions of tensors on the GPU, by all nodes.
  uint64_t storages = 0;      // Distinct ids,
  uint64_t allocations = 0;   // and what they stood for, one after another;
  uint64_t there_before = 0;  // of these from before the trace,
  Bytes allocated;            // in bytes, all.
  Bytes peak_live;            // The most at once, as asked for.
  uint64_t timed = 0;         // Works with kernels in the profile.
  uint32_t device = 0;        // The GPU that they are of: the one with most tensors.
};

struct PytorchImport {
  RecordedRun run;
  PytorchSummary summary;
};

// `path`: JSON, packed or not (text_source.h); `profile`: empty, or one of the same run
// (pytorch_profile.h). Errors name the file: FailedPrecondition for what is no execution trace, and
// for a profile of another run, ResourceExhausted for what is absurdly large. What is cut short is
// used as far as it goes, and is one of the run's problems.
StatusOr<PytorchImport> ImportPytorch(const std::string& path, const std::string& profile = {});
// The same from its text, whose errors name no file.
StatusOr<PytorchImport> ReadPytorch(std::streambuf* text, std::optional<PytorchProfile> profile);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_IMPORT_PYTORCH_H_
