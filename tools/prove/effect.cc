#include "tools/prove/effect.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace vramspan::prove {

using Kind = SassOperand::Kind;

Machine MachineOf(int version) {
  // As nvcc's own code has it, from Turing to Blackwell.
  if (version < 75 || version > 121) return {};
  if (version < 90) return {.parameters = 0x160, .stack = 0x28, .descriptor = 0x118};
  if (version < 100) {
    return {.parameters = 0x210,
            .window = 0x198,
            .bank = 0xc0,
            .sizes = 0x18,
            .stack = 0x28,
            .descriptor = 0x208};
  }
  return {.parameters = 0x380, .window = 0x348, .stack = 0x37c, .descriptor = 0x358};
}

Effect::Effect(const SassInstruction& instruction, const Machine& machine, bool settled,
               State* state, Origin* shared, std::string* why)
    : i_(instruction),
      machine_(machine),
      settled_(settled),
      state_(*state),
      shared_(*shared),
      why_(*why) {
  bool first = true;
  for (const SassOperand& operand : i_.operands) {
    if (operand.kind == Kind::kPredicate) continue;
    if (first && operand.kind == Kind::kRegister) {
      destination_ = &operand;
    } else {
      sources_.push_back(&operand);
    }
    first = false;
  }
}

bool Effect::Doubt(std::string_view what) {
  why_ = absl::StrCat(what, ": ", i_.text);
  return false;
}

unsigned Effect::Width() const {
  if (Has("256")) return 8;
  if (Has("128")) return 4;
  if (Has("96")) return 3;
  if (Has("64") || Has("F64") || Has("S64") || Has("U64")) return 2;
  return 1;
}

Origin Effect::OfConstant(const SassOperand& operand, unsigned further) const {
  if (!operand.known_bank) return Origin::kMemory;
  if (operand.bank == 2) return Origin::kNumber;  // The compiler's own.
  if (operand.bank == 4) return Origin::kModule;  // Addresses, by the linker.
  if (operand.bank != 0) return Origin::kMemory;  // The program's __constant__, and others.
  const uint64_t word = operand.offset + uint64_t{4} * further;
  if (operand.by_register || word >= machine_.parameters) return Origin::kParameter;
  if (word % 4 != 0) return Origin::kWindow;
  if (word < machine_.sizes) return Origin::kNumber;
  const auto in = [word](uint64_t address) {
    return address != 0 && word >= address && word < address + 8;
  };
  const bool own = in(machine_.window) || in(machine_.bank);
  return own ? Origin::kOwnParameters : Origin::kWindow;
}

Origin Effect::At(const SassOperand& operand, unsigned further) const {
  switch (operand.kind) {
    case Kind::kRegister: {
      const std::optional<SassRegister> reg = Further(operand.reg, further);
      return reg ? state_.registers().Of(*reg, i_.guard) : Origin::kMemory;
    }
    case Kind::kConstant:
      return OfConstant(operand, further);
    case Kind::kPredicate:
    case Kind::kNumber:
    case Kind::kSpecial:
      return Origin::kNumber;
    case Kind::kUnknown:
    case Kind::kAddress:
      return Origin::kMemory;
  }
  return Origin::kMemory;
}

Origin Effect::AtSource(size_t number, unsigned further) const {
  return number < sources_.size() ? At(*sources_[number], further) : Origin::kNumber;
}

Origin Effect::OfAll(unsigned further) const {
  Origin all{};
  for (const SassOperand* source : sources_) all = EitherOf(all, At(*source, further));
  return all;
}

Origin Effect::OfSum() const {
  Origin sum{};
  for (const SassOperand* source : sources_) sum = SumOf(sum, At(*source));
  return sum;
}

Origin Effect::Upper(SassRegister reg) const {
  const std::optional<SassRegister> next = Further(reg, 1);
  return next ? state_.registers().Of(*next, i_.guard) : Origin::kMemory;
}

void Effect::Set(SassRegister reg, unsigned count, Origin origin, unsigned most) {
  if (reg.zero) return;
  for (unsigned k = 0; k < std::max(count, most); ++k) {
    const std::optional<SassRegister> next = Further(reg, k);
    if (!next) return;
    if (k < count) {
      state_.Set(*next, i_.guard, origin);
    } else {
      state_.Add(*next, origin);
    }
  }
}

void Effect::To(unsigned count, Origin origin, unsigned most) {
  if (destination_ != nullptr) Set(destination_->reg, count, origin, most);
}

void Effect::ToPair(Origin lower, Origin upper) {
  if (destination_ == nullptr) return;
  Set(destination_->reg, 1, lower);
  if (const std::optional<SassRegister> next = Further(destination_->reg, 1)) {
    if (!next->zero) Set(*next, 1, upper);
  }
}

}  // namespace vramspan::prove
