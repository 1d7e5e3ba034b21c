// What an instruction of nvdisasm's text works on.
//
// Pure. What is not understood is an operand of no kind: it may hold anything.
#ifndef VRAMSPAN_TOOLS_PROVE_SASS_OPERAND_H_
#define VRAMSPAN_TOOLS_PROVE_SASS_OPERAND_H_

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramspan::prove {

// A register of a thread (R) or of a warp (UR). RZ and URZ are `zero`.
struct SassRegister {
  bool uniform = false, zero = false;
  uint16_t number = 0;
  bool operator==(const SassRegister&) const = default;
};
inline constexpr uint16_t kSassRegisters = 256;

// That register and so many further on; none beyond the last.
std::optional<SassRegister> Further(SassRegister reg, unsigned by);

struct SassOperand {
  enum class Kind : uint8_t {
    kUnknown,
    kSpecial,  // A label, a barrier, a special register, a descriptor: no value that was loaded.
    kPredicate,
    kRegister,
    kNumber,
    kConstant,  // c[bank][offset]
    kAddress,   // [registers + number], perhaps behind a descriptor
  };
  Kind kind = Kind::kUnknown;
  std::string_view text;
  SassRegister reg{};  // kRegister; of a constant whose offset begins at one.
  // kConstant; an offset by register begins at `offset`. kAddress: what is added, of either sign.
  uint64_t bank = 0, offset = 0;
  bool known_bank = false, by_register = false;
  // kAddress: its registers, each a pair but for those of which 32 bits count.
  struct Part {
    SassRegister reg;
    bool narrow = false;
  };
  absl::InlinedVector<Part, 2> parts{};

  // kNumber: as a whole number, where it is written as one.
  std::optional<uint64_t> Number() const;
  // A register as it is: neither negated, nor its absolute value, nor a part of it.
  bool IsPlainRegister() const;
};

SassOperand ParseOperand(std::string_view text);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_SASS_OPERAND_H_
