// What one image is to have read, and what that says of its kernels: the same rules for all images,
// whoever asks.
//
// Threads: any.
#ifndef VRAMSPAN_TOOLS_PROVE_IMAGE_READING_H_
#define VRAMSPAN_TOOLS_PROVE_IMAGE_READING_H_

#include <absl/functional/function_ref.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/prove/code.h"
#include "tools/prove/entries.h"
#include "tools/prove/image_state.h"
#include "tools/prove/images.h"

namespace vramspan::prove {

// What the disassembler says of a cubin.
using ReadCubin = absl::FunctionRef<StatusOr<std::vector<KernelReading>>(std::string_view cubin)>;
// The same of these kernels alone, all of which it holds.
using ReadKernelsOfCubin = absl::FunctionRef<StatusOr<std::vector<KernelReading>>(
    std::string_view cubin, const std::set<std::string>& kernels)>;

// The code of the image, if all of it can be known. An error says why nothing of it is proven.
StatusOr<std::vector<Entry>> EntriesToRead(const Image& image);

// One entry, read.
class EntryReading {
 public:
  static EntryReading Of(const Entry& entry, ReadCubin read);
  // Of what it holds these kernels alone. Where it holds none of them nothing is read.
  static EntryReading Of(const Entry& entry, const std::set<std::string>& wanted,
                         ReadKernelsOfCubin read);

  void AddTo(ImageState* image) const;
  // By its own tables; an error where those are not understood.
  const StatusOr<std::vector<std::string>>& kernels() const { return kernels_; }

 private:
  explicit EntryReading(const Entry& entry)
      : gpu_(entry.gpu), ptx_(entry.kind == Entry::Kind::kPtx) {}
  // Whether there is code to be read, which is what its kernels have.
  bool Name(const StatusOr<Code>& code);

  std::string gpu_;
  bool ptx_;
  bool linked_ = true;
  StatusOr<std::vector<std::string>> kernels_ = absl::CancelledError();
  StatusOr<std::vector<KernelReading>> readings_ = absl::CancelledError();
};

// Whether a GPU runs that code as it is: `gpu` is its compute capability as a number, as 90.
bool RunsOn(const Entry& entry, uint32_t gpu);

// Of each of these kernels what all code that the GPU may run of it says. That of PTX is not known
// before the driver makes it, which it may unless there is machine code for just this GPU.
std::map<std::string, Verdict> ProveKernels(const Image& image, uint32_t gpu,
                                            const std::set<std::string>& kernels,
                                            ReadKernelsOfCubin read);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_IMAGE_READING_H_
