#include <algorithm>
#include <iterator>

#include "tests/odd/forms.h"

namespace odd {
namespace {

using Form = std::string (*)(Encoder& e, Word address);

Encoder::Rest Plain(Encoder& e) {
  return [&e](Word value) { return e.Plain(value); };
}
Encoder::Rest Slot(Encoder& e, StoreWay way, Encoder::Rest rest) {
  return [&e, way, rest](Word value) { return e.Stored(value, way, rest); };
}
StoreWay SomeWay(Encoder& e) {
  return static_cast<StoreWay>(e.tools().draw.Below(static_cast<size_t>(StoreWay::kCount)));
}

std::string InFront(Encoder& e, Word address) {
  return e.Added(address, 8 * e.tools().draw.Between(1, 8191), Plain(e));
}
std::string FarInFront(Encoder& e, Word address) {
  return e.Added(address, 256 * e.tools().draw.Between(1, 1 << 20), Plain(e));
}
std::string FarBehind(Encoder& e, Word address) {
  return e.Added(address, 0 - Word{8} * e.tools().draw.Between(1, 1 << 24), Plain(e));
}
std::string AnyByte(Encoder& e, Word address) { return e.AnyByte(address); }
std::string Halves(Encoder& e, Word address) {
  return e.Halves(address, e.tools().draw.Below(e.tools().draw.Percent(50) ? 4 : 40));
}
std::string Pieces(Encoder& e, Word address) {
  return e.Pieces(address, 1u << e.tools().draw.Below(3));
}
std::string TagOnTop(Encoder& e, Word address) {
  const Word tag = e.tools().draw.Below(1 << 16) << 48;
  return e.Unary(Op::kShiftRight, 16, (address | tag) << 16,
                 [&](Word) { return e.Unary(Op::kShiftLeft, 16, address | tag, Plain(e)); });
}
std::string TagBelow(Encoder& e, Word address) {
  const Word tag = e.tools().draw.Below(8);
  return e.Unary(Op::kShiftLeft, 3, address >> 3,
                 [&](Word) { return e.Unary(Op::kShiftRight, 3, address | tag, Plain(e)); });
}
// With what is lost by that beside it.
std::string Shifted(Encoder& e, Word address) {
  const auto bits = static_cast<unsigned>(e.tools().draw.Between(1, 20));
  const Word low = (Word{1} << bits) - 1;
  return e.Added(address, address & low,
                 [&](Word high) { return e.Unary(Op::kShiftLeft, bits, high >> bits, Plain(e)); });
}
std::string Apart(Encoder& e, Word address) {
  Draw& draw = e.tools().draw;
  const Word base = e.tools().memory[e.tools().memory.Some()].at;
  const Word element = Word{1} << draw.Below(4);
  if (draw.Percent(50)) return e.Apart(address, base, element, Plain(e), Plain(e));
  return e.Apart(address, base, 8, Plain(e), [&](Word words) { return e.Signed4(words); });
}
std::string PointerAndOffset(Encoder& e, Word address) {
  const Memory& memory = e.tools().memory;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (address < memory[i].at || address >= memory[i].at + memory[i].bytes()) continue;
    return e.Apart(
        address, memory[i].at, 8, [&](Word base) { return e.Pieces(base, 4); }, Plain(e));
  }
  return e.Plain(address);
}
// An index that lies in an array, of words behind another array.
std::string Indexed(Encoder& e, Word address) {
  const Word base = e.tools().memory[e.tools().memory.Some()].at;
  return e.Apart(address, base, 8, Plain(e), Slot(e, SomeWay(e), Plain(e)));
}
std::string Table(Encoder& e, Word address) { return e.Stored(address, SomeWay(e), Plain(e)); }
std::string KernelsTable(Encoder& e, Word address) {
  return e.Stored(address, StoreWay::kKernel, Plain(e));
}
std::string TableOfTables(Encoder& e, Word address) {
  return e.Stored(address, SomeWay(e), Slot(e, SomeWay(e), Plain(e)));
}
std::string List(Encoder& e, Word address) {
  Encoder::Rest rest = Plain(e);
  for (size_t links = e.tools().draw.Between(2, 5); links > 0; --links) {
    rest = Slot(e, SomeWay(e), rest);
  }
  return e.Stored(address, SomeWay(e), rest);
}
std::string Pinned(Encoder& e, Word address) { return e.Pinned(address); }
std::string PinnedTable(Encoder& e, Word address) {
  return e.Stored(address, SomeWay(e), [&](Word slot) { return e.Pinned(slot); });
}
std::string Variable(Encoder& e, Word address) { return e.Global(address); }
std::string ByGrid(Encoder& e, Word address) {
  return e.GridAdded(address, 8 * e.tools().draw.Between(1, 1 << 20), Plain(e));
}
std::string Secret(Encoder& e, Word address) {
  return e.Xored(address, e.tools().draw.Word64(), Plain(e));
}
std::string SecretInMemory(Encoder& e, Word address) {
  return e.XorConstant(address, Plain(e), Plain(e));
}

constexpr Form kForms[] = {InFront, FarInFront,       FarBehind,     AnyByte,     Halves,
                           Pieces,  TagOnTop,         TagBelow,      Shifted,     Apart,
                           Apart,   PointerAndOffset, Indexed,       Table,       KernelsTable,
                           List,    TableOfTables,    Pinned,        PinnedTable, Variable,
                           ByGrid,  Secret,           SecretInMemory};

}  // namespace

std::string ListedForm(Encoder* encoder, Word address) {
  return kForms[encoder->tools().draw.Below(std::size(kForms))](*encoder, address);
}

}  // namespace odd
