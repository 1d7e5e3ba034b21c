// Kernels of one form each, which docs/overlap.md promises to find.
#include <string>

#include "tests/odd/launches.h"
#include "tests/odd/stores.h"

namespace odd {
namespace {

// What comes behind the address in most of them.
struct Rest {
  size_t count;
  Word value;
  unsigned pause;
};

constexpr size_t kTable = 6;  // The last of the forms.

class Found {
 public:
  Found(bool captured, Tools* tools) : captured_(captured), tools_(*tools), draw_(tools->draw) {}

  Bundle Launch(bool lasting) { return LaunchForm(draw_.Below(kTable + 1), lasting); }
  Bundle LaunchForm(size_t form, bool lasting) {
    rest_ = {draw_.Between(1, 96), draw_.Word64(), SomePause(lasting, &draw_)};
    slice_ = tools_.memory.SomeSlice(tools_.memory.Some(), rest_.count);
    switch (form) {
      case 0:
        Packing();
        break;
      case 1:
        InFront();
        break;
      case 2:
        Apart();
        break;
      case 3:
        Halves();
        break;
      case 4:
        Tagged();
        break;
      case 5:
        Page();
        break;
      default:
        Table();
    }
    item_.arrays.push_back(slice_.array);
    item_.effect = [memory = &tools_.memory, slice = slice_, value = rest_.value] {
      AddToSlice(memory, slice, value);
    };
    bundle_.push_back(item_);
    return bundle_;
  }

 private:
  const Array& array() const { return tools_.memory[slice_.array]; }
  CUdeviceptr address() const { return array().AddressOf(slice_.first); }
  template <typename... Parameters>
  void Is(const char* name, Parameters... parameters) {
    item_.text = tools_.NameOf(name) + " " + TextOf(slice_);
    item_.submit = LaunchOf(tools_.Kernel(name), {1, draw_.Percent(20)}, parameters...);
  }

  void Packing() {
    Packed packed{};
    packed.words = reinterpret_cast<Word*>(address());
    Is("odd_packed", packed, rest_.count, rest_.value, rest_.pause);
  }
  // Of the array's start, or it would lie in the array.
  void InFront() {
    const size_t words = 32 * draw_.Below(255) + draw_.Between(1, 31);
    Is("odd_in_front", array().at - words * sizeof(Word), words + slice_.first, rest_.count,
       rest_.value, rest_.pause);
  }
  // The start of an array from one behind it. Graphs are not searched for it.
  void Apart() {
    const size_t other = tools_.memory.SomeBut(slice_.array);
    const CUdeviceptr base = tools_.memory[other].at;
    if (captured_ || base < array().at) return Tagged();
    const auto element = 1u << draw_.Below(5);
    const auto apart = -static_cast<long long>((base - array().at) / element);
    Is("odd_apart", base, apart, element, slice_.first, rest_.count, rest_.value, rest_.pause);
    item_.text += " from " + std::to_string(other) + " by " + std::to_string(apart);
  }
  // Small numbers count as no half.
  void Halves() {
    const auto low = static_cast<unsigned>(address()),
               high = static_cast<unsigned>(address() >> 32);
    if (low < 1u << 16) return Tagged();
    const auto few = static_cast<unsigned>(draw_.Below(rest_.count + 1));
    Is("odd_halves", low, few, rest_.pause, static_cast<unsigned>(rest_.count) - few, high,
       rest_.value);
  }
  void Tagged() {
    const size_t tag = draw_.Below(1 << 16) << 48 | draw_.Below(8);
    Is("odd_tagged", address() | tag, rest_.count, rest_.value, rest_.pause);
  }
  void Page() {
    const auto shift = static_cast<unsigned>(draw_.Between(4, 12));
    const size_t words = (size_t{1} << shift) / sizeof(Word);
    slice_.first = slice_.first / words * words;
    Is("odd_page", address() >> shift, shift, rest_.count, rest_.value, rest_.pause);
  }
  // Of pointers that a copy is seen to bring.
  void Table() {
    if (captured_) return Tagged();
    TableLaunch& t = tools_.last_table;
    if (t.count != 0 && draw_.Percent(80)) {
      // The same parameters once more, and another address in the table.
      rest_ = {t.count, t.value, t.pause};
      slice_ = tools_.memory.SomeSlice(slice_.array, t.count);
    } else {
      t = {tools_.memory.Some(), 0, rest_.count, rest_.value, rest_.pause};
      t.at = tools_.memory.NewSlot(t.table);
    }
    AddStore(&tools_, draw_.Percent(50) ? StoreWay::kCopy : StoreWay::kPinnedCopy, t.table, t.at,
             address(), &bundle_);
    Is("odd_table", tools_.memory[t.table].at, t.at, rest_.count, rest_.value, rest_.pause);
    item_.text += " by a word of " + TextOf({t.table, t.at, 1});
    item_.arrays.push_back(t.table);
  }

  const bool captured_;
  Tools& tools_;
  Draw& draw_;
  struct Rest rest_ {};
  Slice slice_;
  Item item_;
  Bundle bundle_;
};

}  // namespace

Bundle TableLaunchOf(Tools* tools) {
  return Found(/*captured=*/false, tools).LaunchForm(kTable, /*lasting=*/false);
}
Bundle FoundLaunch(bool captured, bool lasting, Tools* tools) {
  return Found(captured, tools).Launch(lasting);
}

}  // namespace odd
