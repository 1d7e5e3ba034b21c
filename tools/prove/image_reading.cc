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

namespace {

bool MayBeCompiledFor(const Entry& entry, uint32_t gpu) {
  return entry.kind == Entry::Kind::kPtx && entry.sm <= gpu;
}

// Of each of these kernels that is not among `exact`, that the driver may make code of its PTX.
void AddPtxOf(const Entry& entry, std::set<std::string> kernels, const std::set<std::string>& exact,
              ImageState* state) {
  std::erase_if(kernels, [&exact](const std::string& kernel) { return exact.contains(kernel); });
  if (kernels.empty()) return;
  const auto none = [](std::string_view, const std::set<std::string>&) {
    return StatusOr<std::vector<KernelReading>>(absl::CancelledError());
  };
  const EntryReading ptx = EntryReading::Of(entry, kernels, none);
  // What is not understood may be of any.
  const std::vector<std::string> declared =
      ptx.kernels().value_or(std::vector<std::string>(kernels.begin(), kernels.end()));
  state->AddUnread(entry.gpu, declared, "the driver may compile its PTX");
}

}  // namespace

std::map<std::string, Verdict> ProveKernels(const Image& image, uint32_t gpu,
                                            const std::set<std::string>& kernels,
                                            ReadKernelsOfCubin read) {
  ImageState state(image.module);
  const StatusOr<std::vector<Entry>> entries = EntriesToRead(image);
  if (!entries.ok()) state.Fail(entries.status().message());
  if (entries.ok()) {
    std::set<std::string> exact;  // Those with machine code for just this GPU.
    for (const Entry& entry : *entries) {
      if (!RunsOn(entry, gpu)) continue;
      const EntryReading reading = EntryReading::Of(entry, kernels, read);
      reading.AddTo(&state);
      if (entry.sm == gpu && reading.kernels().ok()) {
        exact.insert(reading.kernels()->begin(), reading.kernels()->end());
      }
    }
    for (const Entry& entry : *entries) {
      if (MayBeCompiledFor(entry, gpu)) AddPtxOf(entry, kernels, exact, &state);
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
