#include "tests/odd/encoder.h"

#include <algorithm>
#include <string>

#include "tests/odd/streams.h"

namespace odd {

Encoder::Encoder(Tools* tools, unsigned grid_y, Block* block, Bundle* bundle)
    : tools_(*tools), grid_y_(grid_y), block_(*block), bundle_(*bundle), used_(Block::kData) {
  for (unsigned char& byte : block_.data) byte = static_cast<unsigned char>(tools_.draw.Below(256));
}

void Encoder::Emit(Op op, unsigned arg, size_t at) {
  if (steps_ == Block::kSteps) throw NoRoom{};
  block_.steps[steps_++] = {op, static_cast<unsigned char>(arg), static_cast<unsigned short>(at)};
}

// Bytes that nobody uses, in [first, end).
size_t Encoder::Take(size_t bytes, size_t alignment, size_t first, size_t end) {
  const size_t last = std::min(end, Block::kData);
  for (int tries = 0; tries < 60; ++tries) {
    if (first + bytes > last) break;
    const size_t at = (first + tools_.draw.Below(last - first - bytes + 1)) / alignment * alignment;
    if (at < first) continue;
    const auto begin = used_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto stop = begin + static_cast<std::ptrdiff_t>(bytes);
    if (std::find(begin, stop, true) != stop) continue;
    std::fill(begin, stop, true);
    return at;
  }
  throw NoRoom{};
}

void Encoder::Put(size_t at, Word value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    block_.data[at + i] = static_cast<unsigned char>(value >> 8 * i);
  }
}

std::string Encoder::Param(Word value, unsigned bytes, size_t alignment) {
  const size_t at = Take(bytes, alignment, 0, Block::kData);
  Put(at, value, bytes);
  Emit(Op::kParam, bytes, at);
  return std::to_string(at);
}

std::string Encoder::Plain(Word value) { return "plain@" + Param(value, 8, 8); }
std::string Encoder::AnyByte(Word value) { return "bytes@" + Param(value, 8, 1); }

std::string Encoder::Pieces(Word value, unsigned bytes) {
  std::vector<unsigned> order;
  for (unsigned at = 0; at < 8; at += bytes) order.push_back(at);
  tools_.draw.Shuffle(&order);
  bool first = true;
  for (const unsigned piece : order) {
    Param(value >> 8 * piece & ((Word{1} << 8 * bytes) - 1), bytes, bytes);
    if (piece != 0) Emit(Op::kShiftLeft, 8 * piece);
    if (!first) Emit(Op::kOr);
    first = false;
  }
  return "pieces of " + std::to_string(bytes);
}

std::string Encoder::Halves(Word value, size_t words_between) {
  const size_t bytes = 8 + 4 * words_between;
  const size_t at = Take(bytes, 4, 0, Block::kData), far = at + bytes - 4;
  const bool turned = tools_.draw.Percent(50);
  Put(at, turned ? value >> 32 : value, 4);
  Put(far, turned ? value : value >> 32, 4);
  Emit(Op::kParam, 4, turned ? at : far);
  Emit(Op::kShiftLeft, 32);
  Emit(Op::kParam, 4, turned ? far : at);
  Emit(Op::kOr);
  return "halves with " + std::to_string(words_between) + " words between";
}

std::string Encoder::Signed4(Word value) {
  Param(value, 4, 4);
  Emit(Op::kSign);
  return "signed " + std::to_string(static_cast<long long>(value));
}

std::string Encoder::Pinned(Word value) {
  const Word* const word = tools_.PinnedWord(value);
  if (word == nullptr) return Plain(value);
  const std::string text = Plain(reinterpret_cast<Word>(word));
  Emit(Op::kLoad, 8);
  return "host memory of " + text;
}

std::string Encoder::Global(Word value) {
  if (tools_.globals == kGlobals) return Pieces(value, 4);
  const size_t at = tools_.globals++;
  const CUdeviceptr to = tools_.machine.globals() + at * sizeof(Word);
  const Word* const from = tools_.HostWord(value);
  bundle_.push_back(
      {"copy to variable " + std::to_string(at),
       {kVariable},
       [=](CUstream stream) { ODD_CU(cuMemcpyHtoDAsync(to, from, sizeof(Word), stream)); },
       [] {}});
  arrays_.push_back(kVariable);
  Emit(Op::kGlobal, 0, at);
  return "variable " + std::to_string(at);
}

std::string Encoder::Grid() {
  Emit(Op::kGrid);
  return "grid";
}

std::string Encoder::Stored(Word value, StoreWay way, const Rest& rest) {
  const size_t array = tools_.memory.Some();
  const size_t word = tools_.memory.NewSlot(array);
  AddStore(&tools_, way, array, word, value, &bundle_);
  arrays_.push_back(array);
  const std::string text = rest(tools_.memory[array].AddressOf(word));
  Emit(Op::kLoad, 8);
  return "word of array " + std::to_string(array) + " by " + NameOfWay(way) + " at (" + text + ")";
}

std::string Encoder::XorConstant(Word value, const Rest& rest, const Rest& address) {
  const size_t array = tools_.memory.Some();
  const Array& a = tools_.memory[array];
  const size_t word = tools_.memory.Constant(array);
  arrays_.push_back(array);
  const std::string inner = rest(value ^ a.Get(word)), where = address(a.AddressOf(word));
  Emit(Op::kLoad, 8);
  Emit(Op::kXor);
  return "(" + inner + ") ^ " + TextOf({array, word, 1}) + " at (" + where + ")";
}

std::string Encoder::Added(Word value, Word number, const Rest& rest) {
  const std::string text = rest(value - number);
  Param(number, 8, 8);
  Emit(Op::kAdd);
  return "(" + text + ") + " + std::to_string(static_cast<long long>(number));
}

std::string Encoder::Xored(Word value, Word number, const Rest& rest) {
  const std::string text = rest(value ^ number);
  Param(number, 8, 8);
  Emit(Op::kXor);
  return "(" + text + ") ^ " + std::to_string(number);
}

std::string Encoder::Multiplied(Word value, Word factor, const Rest& rest) {
  const std::string text =
      rest(static_cast<Word>(static_cast<long long>(value) / static_cast<long long>(factor)));
  Param(factor, 8, 8);
  Emit(Op::kMultiply);
  return "(" + text + ") * " + std::to_string(factor);
}

std::string Encoder::Unary(Op op, unsigned arg, Word inner, const Rest& rest) {
  const std::string text = rest(inner);
  Emit(op, arg);
  static constexpr const char* kNames[] = {"rotate", "shift left", "shift right",
                                           "sign",   "not",        "swap bytes"};
  return std::string(kNames[static_cast<int>(op) - static_cast<int>(Op::kRotate)]) + " " +
         std::to_string(arg) + " (" + text + ")";
}

std::string Encoder::Masked(Word value, Word mask, const Rest& low, const Rest& high) {
  const std::string first = low(value & mask), second = high(value & ~mask);
  Emit(Op::kOr);
  return "(" + first + ") | (" + second + ")";
}

std::string Encoder::Apart(Word value, Word from, Word element, const Rest& base,
                           const Rest& distance) {
  const auto apart = static_cast<long long>(value - from) / static_cast<long long>(element);
  const std::string first = base(from), second = distance(static_cast<Word>(apart));
  if (element != 1) {
    Param(element, 1, 1);
    Emit(Op::kMultiply);
  }
  Emit(Op::kAdd);
  return "(" + first + ") + " + std::to_string(element) + " * (" + second + ")";
}

std::string Encoder::GridAdded(Word value, Word step, const Rest& rest) {
  const std::string text = rest(value - step * grid_y_);
  Emit(Op::kGrid);
  Param(step, 8, 8);
  Emit(Op::kMultiply);
  Emit(Op::kAdd);
  return "(" + text + ") + grid * " + std::to_string(step);
}

}  // namespace odd
