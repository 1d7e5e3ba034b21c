#include "tools/reader/desk.h"

#include <absl/strings/str_cat.h>

#include <chrono>
#include <exception>
#include <utility>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/readings.h"
#include "tools/prove/code.h"
#include "tools/prove/cubin_part.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/image_reading.h"

namespace vramspan::reader {
namespace {

// Of one run of nvdisasm. A program waits for no answer, but others want the processor, and memory
// is short where code is read.
constexpr prove::ChildLimits kLimits = {.work = std::chrono::seconds{300},
                                        .time = std::chrono::seconds{600},
                                        .output = uint64_t{256} << 20,
                                        .memory = uint64_t{8} << 30,
                                        .in_memory = true};

// Other processes ask for other GPUs.
std::string AnswerLine(const AskedCode& code, const std::string& name, const ReadKernel& read) {
  return absl::StrCat(
      code.gpu, " ",
      read.proven ? ReadLine(code.module, name, read.when) : UnreadLine(code.module, name));
}

}  // namespace

void Desk::Take(const std::vector<Ask>& asks) {
  std::string answers;
  for (const Ask& ask : asks) {
    const std::optional<ReadKernel> known = kept_.Of(ask.code, ask.name);
    MutexLock lock(mu_);
    if (known.has_value()) {
      answers += AnswerLine(ask.code, ask.name, *known);
      continue;
    }
    if (const auto failed = failed_.find(ask.code);
        failed != failed_.end() && failed->second.contains(ask.name)) {
      answers += AnswerLine(ask.code, ask.name, {});
      continue;
    }
    Waiting& waiting = waiting_[ask.code];
    if (waiting.empty()) turns_.push_back(ask.code);
    ++waiting[ask.name];
  }
  // A full disk: who asked gets no answer, and trusts no more than before.
  static_cast<void>(exchange_.Answer(answers));
  more_.NotifyAll();
}

void Desk::Work() {
  for (;;) {
    AskedCode code;
    std::set<std::string> names;
    {
      MutexLock lock(mu_);
      while (turns_.empty()) more_.Wait(mu_);
      code = turns_.front();
      turns_.pop_front();
      for (const auto& [name, count] : waiting_[code]) names.insert(name);
    }
    Read read;
    try {
      read = ReadCode(code, names);
    } catch (const std::exception&) {
      // Memory ran out. Those that wait get their answer all the same.
      for (const std::string& name : names) read.kernels[name] = {};
      read.certain = false;
    }
    std::string answers;
    {
      MutexLock lock(mu_);
      Waiting& waiting = waiting_[code];
      for (const auto& [name, kernel] : read.kernels) {
        for (size_t i = 0; i < waiting[name]; ++i) answers += AnswerLine(code, name, kernel);
        waiting.erase(name);
        if (!kernel.proven && read.lasting && !read.certain) failed_[code].insert(name);
      }
      // Others were asked of it meanwhile.
      if (waiting.empty()) {
        waiting_.erase(code);
      } else {
        turns_.push_back(code);
        more_.NotifyOne();
      }
    }
    static_cast<void>(exchange_.Answer(answers));
  }
}

Desk::Read Desk::ReadCode(const AskedCode& code, const std::set<std::string>& names) {
  Read read;
  for (const std::string& name : names) read.kernels[name] = {};
  const StatusOr<prove::MappedFile> file = exchange_.Image(code.module);
  const std::optional<prove::Image> image =
      file.ok() ? ImageIn(file->bytes(), code.module) : std::nullopt;
  if (!image.has_value()) {
    read.certain = read.lasting = false;
    return read;
  }
  const auto disassemble =
      [&](std::string_view cubin,
          const std::set<std::string>& kernels) -> StatusOr<std::vector<prove::KernelReading>> {
    VS_RETURN_IF_ERROR(nvdisasm_.status());
    VS_ASSIGN_OR_RETURN(const std::string part, prove::CubinPart(cubin, kernels));
    VS_ASSIGN_OR_RETURN(const prove::MappedFile text, nvdisasm_->Run(part, kLimits));
    return prove::ReadKernels(text.bytes());
  };
  const auto told = [&](std::string_view cubin, const std::set<std::string>& kernels) {
    auto readings = disassemble(cubin, kernels);
    if (!readings.ok()) read.certain = false;
    return readings;
  };
  ReadKernels certain;
  for (const auto& [name, verdict] : prove::ProveKernels(*image, code.gpu, names, told)) {
    const ReadKernel kernel = {verdict.proven, verdict.when};
    read.kernels[name] = kernel;
    if (kernel.proven || read.certain) certain[name] = kernel;
  }
  if (!certain.empty()) kept_.Add(code, certain);
  return read;
}

std::optional<prove::Image> Desk::ImageIn(std::string_view file, uint64_t module) {
  const std::vector<prove::Image> images = prove::FindImages(file);
  if (images.empty()) return std::nullopt;
  const prove::Image& first = images.front();
  if (first.bytes.data() == file.data()) {
    return first.module == module ? std::optional(first) : std::nullopt;
  }
  // A library of the host's, as the simulated driver takes and no other does.
  const bool host = images.size() == 1 && file.starts_with(prove::kElfBegin) &&
                    HashOfImage(file.data()) == module;
  return host ? std::optional(first) : std::nullopt;
}

}  // namespace vramspan::reader
