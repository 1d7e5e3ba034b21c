// Which instructions take a word of the parameters as it is, and which compare one with a number.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_WORD_RULES_H_
#define VRAMSPAN_TOOLS_PROVE_WORD_RULES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "tools/prove/known_words.h"
#include "tools/prove/sass_instruction.h"

namespace vramspan::prove {

// What an instruction makes known.
struct Learnt {
  std::vector<std::pair<SassRegister, ParameterWord>> words;
  std::optional<std::pair<SassGuard, ParameterRange>> test;  // It holds where a word lies there.
};

// `parameters`: where they begin in bank 0. Nothing of an instruction that has a guard.
Learnt LearntFrom(const SassInstruction& instruction, uint64_t parameters,
                  const KnownWords& before);

// A register that it may write beside those that are known to be written.
std::optional<SassRegister> MayWriteToo(const SassInstruction& instruction);

// Whether the word lies in the range, by what is assumed of it; nothing: it may or not.
std::optional<bool> Decided(const ParameterRange& range, const ParameterRanges& assumed);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_WORD_RULES_H_
