#include "tools/prove/image_reading.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "tools/prove/kernel_names.h"

namespace vramspan::prove {

StatusOr<std::vector<Entry>> EntriesToRead(const Image& image) {
  if (image.module == 0) {
    return absl::ResourceExhaustedError("the runtime knows no image that is so large");
  }
  VS_ASSIGN_OR_RETURN(std::vector<Entry> entries, ReadEntries(image));
  for (const Entry& entry : entries) {
    if (entry.kind == Entry::Kind::kOther) {
      return absl::FailedPreconditionError("it holds code that is no machine code, and no PTX");
    }
  }
  return entries;
}

bool EntryReading::Name(const StatusOr<Code>& code) {
  if (!code.ok()) {
    kernels_ = code.status();
    return false;
  }
  if (ptx_) {
    kernels_ = KernelsOfPtx(code->bytes);
  } else {
    kernels_ = KernelsOfCubin(code->bytes);
  }
  linked_ = !ptx_ && kernels_.ok() && !IsRelocatable(code->bytes);
  return linked_;
}

EntryReading EntryReading::Of(const Entry& entry, ReadCubin read) {
  EntryReading reading(entry);
  const StatusOr<Code> code = Unpack(entry);
  if (reading.Name(code) && !reading.kernels_->empty()) reading.readings_ = read(code->bytes);
  return reading;
}

EntryReading EntryReading::Of(const Entry& entry, const std::set<std::string>& wanted,
                              ReadKernelsOfCubin read) {
  EntryReading reading(entry);
  const StatusOr<Code> code = Unpack(entry);
  const bool to_read = reading.Name(code);
  if (!reading.kernels_.ok()) return reading;
  std::erase_if(*reading.kernels_,
                [&wanted](const std::string& kernel) { return !wanted.contains(kernel); });
  const std::set<std::string> kernels(reading.kernels_->begin(), reading.kernels_->end());
  if (to_read && !kernels.empty()) reading.readings_ = read(code->bytes, kernels);
  return reading;
}

void EntryReading::AddTo(ImageState* image) const {
  if (!kernels_.ok()) {
    image->Fail(absl::StrCat(gpu_, ": ", kernels_.status().message()));
  } else if (ptx_) {
    image->AddPtx(*kernels_);
  } else if (!linked_) {
    image->AddUnread(gpu_, *kernels_, "it is still to be linked, into another image");
  } else if (readings_.ok()) {
    image->AddRead(gpu_, *kernels_, *readings_);
  } else {
    image->AddUnread(gpu_, *kernels_, readings_.status().message());
  }
}

// Whatever the letter behind the number: such code is for GPUs among these.
bool RunsOn(const Entry& entry, uint32_t gpu) {
  return entry.kind == Entry::Kind::kElf && entry.sm / 10 == gpu / 10 && entry.sm <= gpu;
}

std::map<std::string, Verdict> ProveKernels(const Image& image, uint32_t gpu,
                                            const std::set<std::string>& kernels,
                                            ReadKernelsOfCubin read) {
  ImageState state(image.module);
  const StatusOr<std::vector<Entry>> entries = EntriesToRead(image);
  if (!entries.ok()) state.Fail(entries.status().message());
  if (entries.ok()) {
    for (const Entry& entry : *entries) {
      if (RunsOn(entry, gpu)) EntryReading::Of(entry, kernels, read).AddTo(&state);
    }
  }
  ImageVerdict verdict = std::move(state).Verdict();
  for (const std::string& kernel : kernels) {
    verdict.kernels.try_emplace(
        kernel,
        Verdict{false, verdict.why.empty() ? "there is no code of it for this GPU" : verdict.why,
                ""});
  }
  return std::move(verdict.kernels);
}

}  // namespace vramspan::prove
