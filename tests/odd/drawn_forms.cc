#include "tests/odd/forms.h"

namespace odd {
namespace {

// Forms within forms, down to a depth.
class Drawn {
 public:
  explicit Drawn(Encoder* encoder) : e_(*encoder), draw_(encoder->tools().draw) {}

  std::string Hide(Word value, size_t depth) {
    if (depth == 0) return Leaf(value);
    const Encoder::Rest rest = [this, depth](Word inner) {
      return Hide(inner, draw_.Percent(80) ? depth - 1 : 0);
    };
    switch (draw_.Below(12)) {
      case 0:
        return e_.Added(value, draw_.Word64() >> draw_.Below(64), rest);
      case 1:
        return e_.Added(value, 0 - (draw_.Word64() >> draw_.Between(20, 60)), rest);
      case 2:
        return e_.Xored(value, draw_.Word64() >> draw_.Below(64), rest);
      case 3:
        return Bits(value, rest);
      case 4:
        return Tagged(value, rest);
      case 5:
        return Parts(value, rest);
      case 6:
      case 7:
        return e_.Stored(value, Way(), rest);
      case 8:
        return e_.XorConstant(value, rest, rest);
      case 9:
      case 10:
        return Apart(value, rest);
      default:
        return e_.GridAdded(value, draw_.Word64() >> draw_.Between(1, 60), rest);
    }
  }

 private:
  StoreWay Way() {
    return static_cast<StoreWay>(draw_.Below(static_cast<size_t>(StoreWay::kCount)));
  }

  std::string Leaf(Word value) {
    switch (draw_.Below(7)) {
      case 0:
        return e_.AnyByte(value);
      case 1:
        return e_.Pieces(value, 1u << draw_.Below(3));
      case 2:
        return e_.Halves(value, draw_.Below(12));
      case 3:
        return e_.Pinned(value);
      case 4:
        return e_.Global(value);
      default:
        return e_.Plain(value);
    }
  }

  std::string Bits(Word value, const Encoder::Rest& rest) {
    const auto by = static_cast<unsigned>(draw_.Between(1, 63));
    switch (draw_.Below(4)) {
      case 0:
        return e_.Unary(Op::kNot, 0, ~value, rest);
      case 1:
        return e_.Unary(Op::kSwapBytes, 0, __builtin_bswap64(value), rest);
      case 2:
        if (value % 8 == 0) return e_.Unary(Op::kShiftLeft, 3, value >> 3, rest);
        [[fallthrough]];
      default:
        return e_.Unary(Op::kRotate, by, value >> by | value << (64 - by), rest);
    }
  }

  // Bits that the kernel drops.
  std::string Tagged(Word value, const Encoder::Rest& rest) {
    const auto bits = static_cast<unsigned>(draw_.Between(1, 16));
    const Word tag = draw_.Word64();
    if (value >> (64 - bits) != 0) {  // Below, then: there is no room on top.
      return e_.Unary(Op::kRotate, 64 - bits, value << bits | value >> (64 - bits), rest);
    }
    return e_.Unary(Op::kShiftRight, bits, value << bits | (tag & ((Word{1} << bits) - 1)), rest);
  }

  std::string Parts(Word value, const Encoder::Rest& rest) {
    const Word mask = draw_.Percent(50) ? draw_.Word64() : (Word{1} << draw_.Between(1, 63)) - 1;
    return e_.Masked(value, mask, rest, rest);
  }

  // From some place in another array, which is hidden as well, or not.
  std::string Apart(Word value, const Encoder::Rest& rest) {
    const Memory& memory = e_.tools().memory;
    const Array& a = memory[draw_.Below(memory.size())];
    const Word from = a.AddressOf(draw_.Percent(50) ? 0 : draw_.Below(a.words));
    const auto far = static_cast<long long>(value - from);
    const Encoder::Rest plain = [this](Word base) { return e_.Plain(base); };
    const Encoder::Rest& base = draw_.Percent(50) ? plain : rest;
    if (far % 8 != 0) return e_.Apart(value, from, 1, base, rest);
    const long long words = far / 8;
    if (words == static_cast<int>(words) && draw_.Percent(50)) {
      return e_.Apart(value, from, 8, base, [this](Word w) { return e_.Signed4(w); });
    }
    return e_.Apart(value, from, Word{1} << draw_.Below(4), base, rest);
  }

  Encoder& e_;
  Draw& draw_;
};

}  // namespace

std::string DrawnForm(Encoder* encoder, Word address) {
  Drawn drawn(encoder);
  return drawn.Hide(address, encoder->tools().draw.Between(1, 4));
}

}  // namespace odd
