#include "tools/prove/sass_text.h"

#include <absl/container/inlined_vector.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

namespace vramspan::prove {
namespace {

// What stands behind `mark` there; 0: nothing does.
int Version(std::string_view line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string_view::npos) return 0;
  line.remove_prefix(at + mark.size());
  size_t digits = 0;
  while (digits < line.size() && absl::ascii_isdigit(line[digits])) ++digits;
  int version = 0;
  return absl::SimpleAtoi(line.substr(0, digits), &version) ? version : 0;
}

// The lines one after another; what is open is the section that a line is in.
class Reading {
 public:
  explicit Reading(std::string_view text) : text_(text) {}

  SassText Run() && {
    for (std::string_view line : absl::StrSplit(text_, '\n')) Line(line);
    Close(text_.data() + text_.size());
    for (const SassSection& section : parsed_.sections) {
      parsed_.ends_is_own |= section.name == kEnds;
    }
    return std::move(parsed_);
  }

 private:
  void Line(std::string_view whole) {
    std::string_view line = absl::StripAsciiWhitespace(whole);
    if (absl::ConsumePrefix(&line, ".target")) {
      parsed_.version = Version(line, "sm_");
    } else if (absl::ConsumePrefix(&line, ".headerflags")) {
      // Of cubins of an older form, as cuBLAS has them, this is all that says it.
      if (parsed_.version == 0) parsed_.version = Version(line, "EF_CUDA_SM");
    } else if (absl::ConsumePrefix(&line, ".section\t") ||
               absl::ConsumePrefix(&line, ".section ")) {
      Close(whole.data());
      line = absl::StripLeadingAsciiWhitespace(line);
      line = line.substr(0, line.find(','));
      addresses_ = line == ".nv.constant4";
      if (absl::ConsumePrefix(&line, ".text.")) {
        parsed_.sections.emplace_back().name = line;
        begin_ = whole.data() + whole.size();
      }
    } else if (addresses_) {
      Address(line);
    } else if (begin_ == nullptr) {
      Bank(line);
    } else if (begin_ != nullptr && absl::StartsWith(line, ".other")) {
      parsed_.sections.back().kernel |= absl::StrContains(line, "STO_CUDA_ENTRY");
    }
  }
  // /*0030*/ .dword __assertfail
  void Address(std::string_view line) {
    const size_t at = line.find(".dword");
    uint64_t offset = 0;
    if (at == std::string_view::npos || !absl::ConsumePrefix(&line, "/*") ||
        !absl::SimpleHexAtoi(line.substr(0, line.find('*')), &offset)) {
      return;
    }
    parsed_.addresses[offset] = absl::StripAsciiWhitespace(line.substr(at + 4));
  }
  // .word index@(.nv.constant0.NAME), then .short 0x0210 and .short 0x0168
  void Bank(std::string_view line) {
    constexpr std::string_view kBank = "index@(.nv.constant0.", kShort = ".short\t";
    if (const size_t at = line.find(kBank); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + kBank.size());
      bank_ = name.substr(0, name.rfind(')'));
      shorts_.clear();
      return;
    }
    const size_t at = line.find(kShort);
    uint32_t number = 0;
    if (bank_.empty() || at == std::string_view::npos ||
        !absl::SimpleHexAtoi(line.substr(at + kShort.size()), &number)) {
      bank_ = {};
      return;
    }
    shorts_.push_back(number);
    if (shorts_.size() < 2) return;
    const SassParameters said = {shorts_[0], shorts_[1]};
    const auto [known, added] = parsed_.parameters.try_emplace(bank_, said);
    // Of two that differ none is known.
    if (!added && known->second != said) known->second = {};
    bank_ = {};
  }
  void Close(const char* end) {
    if (begin_ != nullptr) {
      parsed_.sections.back().text = std::string_view(begin_, static_cast<size_t>(end - begin_));
    }
    begin_ = nullptr;
  }

  const std::string_view text_;
  SassText parsed_;
  const char* begin_ = nullptr;              // Of the open section of code.
  bool addresses_ = false;                   // The open section is that of bank 4.
  std::string_view bank_;                    // Whose place is being told,
  absl::InlinedVector<uint32_t, 2> shorts_;  // by these numbers.
};

// .align 128; what is no code of a section says it at its begin.
bool IsNoCode(std::string_view line) {
  if (line.empty() || absl::StartsWith(line, "//")) return true;
  return line[0] == '.' && !absl::StrContains(line, "/*");
}

}  // namespace

SassText ParseSass(std::string_view text) { return Reading(text).Run(); }

SassCode ParseCode(std::string_view section) {
  SassCode code;
  const auto stray = [&code](std::string_view line) {
    if (code.stray.empty()) code.stray = line;
  };
  for (std::string_view line : absl::StrSplit(section, '\n')) {
    const bool margin = !line.empty() && !absl::ascii_isspace(line[0]);
    line = absl::StripAsciiWhitespace(line);
    if (margin && absl::ConsumeSuffix(&line, ":")) {
      const bool first = code.labels.emplace(line, code.instructions.size()).second;
      // Where a branch to it goes is not known.
      if (!first) stray(line);
    } else if (absl::StartsWith(line, "/*")) {
      std::optional<SassInstruction> instruction = ParseInstruction(line);
      if (!instruction) {
        stray(line);
      } else if (instruction->opcode != "NOP") {
        code.instructions.push_back(*std::move(instruction));
      }
    } else if (!IsNoCode(line)) {
      stray(line);
    }
  }
  return code;
}

}  // namespace vramspan::prove
