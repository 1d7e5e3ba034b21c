#include "tools/reader/kept_readings.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <sys/stat.h>

#include "runtime/base/mix.h"
#include "runtime/observe/image_hash.h"
#include "runtime/observe/readings.h"
#include "runtime/observe/trust_list.h"
#include "tools/prove/mapped_file.h"

namespace vramspan::reader {
namespace {

std::string FirstLine(const AskedCode& code, uint64_t rules) {
  return absl::StrFormat("vramspan-read 2 image %016x gpu %d rules %016x\n", code.module, code.gpu,
                         rules);
}

// What was read of a name once is not unsaid: it is proven only for what all say.
void AddReading(const std::string& name, const ReadKernel& read, ReadKernels* kernels) {
  const auto [known, added] = kernels->try_emplace(name, read);
  if (added) return;
  ReadKernel& all = known->second;
  std::optional<ParameterCases> when = BothHold(read.when, all.when);
  all.proven &= read.proven && when.has_value();
  all.when = all.proven ? *std::move(when) : ParameterCases();
}

}  // namespace

uint64_t OwnRules() {
  const StatusOr<prove::MappedFile> own = prove::MappedFile::Open("/proc/self/exe");
  if (!own.ok()) return 0;
  return HashOfImage(own->bytes().data());
}

uint64_t RulesOf(const StatusOr<prove::Disassembler>& nvdisasm) {
  const uint64_t own = OwnRules();
  struct stat file = {};
  if (own == 0 || !nvdisasm.ok() || stat(nvdisasm->path().c_str(), &file) != 0) return 0;
  uint64_t rules = own;
  for (const char c : nvdisasm->path()) rules = Mix(rules, static_cast<unsigned char>(c));
  rules = Mix(rules, static_cast<uint64_t>(file.st_size));
  rules = Mix(rules, static_cast<uint64_t>(file.st_mtim.tv_sec));
  rules = Mix(rules, static_cast<uint64_t>(file.st_mtim.tv_nsec));
  return rules != 0 ? rules : 1;
}

std::string KeptText(const AskedCode& code, uint64_t rules, const ReadKernels& kernels) {
  std::string text = FirstLine(code, rules);
  for (const auto& [name, read] : kernels) {
    text += read.proven ? ReadLine(code.module, name, read.when) : UnreadLine(code.module, name);
  }
  return text;
}

std::optional<ReadKernels> ParseKept(std::string_view text, const AskedCode& code, uint64_t rules) {
  if (text.size() > kReadFiles.most_text || !absl::ConsumePrefix(&text, FirstLine(code, rules)) ||
      (!text.empty() && !text.ends_with('\n'))) {
    return std::nullopt;
  }
  ReadKernels kernels;
  for (const std::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::optional<ReadingOfKernel> read = ParseReadingOfKernel(line);
    if (!read.has_value() || read->module != code.module ||
        read->name.size() > TrustList::kMostName) {
      return std::nullopt;
    }
    AddReading(std::string(read->name), {read->proven, read->when}, &kernels);
  }
  return kernels;
}

uint64_t KeptReadings::KeyOf(const AskedCode& code) const {
  return Mix(Mix(code.module, code.gpu), rules_);
}

ReadKernels KeptReadings::OfFile(const AskedCode& code) const {
  if (!files_.has_value() || rules_ == 0) return {};
  const StatusOr<std::string> text = files_->Read(KeyOf(code));
  if (!text.ok()) return {};
  return ParseKept(*text, code, rules_).value_or(ReadKernels());
}

ReadKernels& KeptReadings::Known(const AskedCode& code) {
  const auto [known, added] = known_.try_emplace(code);
  if (added) known->second = OfFile(code);
  return known->second;
}

std::optional<ReadKernel> KeptReadings::Of(const AskedCode& code, const std::string& name) {
  MutexLock lock(mu_);
  const ReadKernels& known = Known(code);
  const auto kernel = known.find(name);
  if (kernel == known.end()) return std::nullopt;
  return kernel->second;
}

void KeptReadings::Add(const AskedCode& code, const ReadKernels& kernels) {
  MutexLock lock(mu_);
  ReadKernels& known = Known(code);
  // Another program's reader may have added to the file.
  ReadKernels all = OfFile(code);
  for (const auto& [name, read] : kernels) AddReading(name, read, &known);
  for (const auto& [name, read] : known) AddReading(name, read, &all);
  if (stopped_ || !files_.has_value() || rules_ == 0) return;
  const std::string text = KeptText(code, rules_, all);
  if (text.size() > kReadFiles.most_text) return;
  // Without it a later run reads them again.
  static_cast<void>(files_->Write(KeyOf(code), text));
}

void KeptReadings::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
}

}  // namespace vramspan::reader
