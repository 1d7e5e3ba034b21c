#include "tests/odd/launches.h"

#include <algorithm>
#include <string>

#include "tests/odd/encoder.h"
#include "tests/odd/forms.h"

namespace odd {
namespace {

// One target, hidden where it is to be.
std::string Hide(bool hidden, bool drawn, Encoder* encoder, const Slice& slice) {
  const Word address = encoder->tools().memory[slice.array].AddressOf(slice.first);
  if (!hidden) return encoder->Plain(address);
  return drawn ? DrawnForm(encoder, address) : ListedForm(encoder, address);
}

// Throws NoRoom.
Bundle TryWalk(bool drawn, bool lasting, Tools* tools) {
  Draw& draw = tools->draw;
  Bundle bundle;
  Block block{};
  const Shape shape{static_cast<unsigned>(draw.Between(1, 7)), draw.Percent(20)};
  Encoder encoder(tools, shape.grid_y, &block, &bundle);
  block.target_count = static_cast<unsigned>(draw.Between(1, Block::kTargets));
  block.gathers = block.target_count == 2 && draw.Percent(60) ? 1 : 0;
  block.value = draw.Word64();
  block.pause = SomePause(lasting, &draw);
  Item item;
  item.text = std::string("odd_walk (") + (drawn ? "drawn" : "listed") + ")";
  std::vector<Slice> slices;
  size_t count = draw.Between(1, 96), array = tools->memory.Some();
  for (unsigned t = 0; t < block.target_count; ++t) {
    slices.push_back(tools->memory.SomeSlice(array, count));
    block.targets[t].begin = static_cast<unsigned short>(encoder.steps());
    item.text += " " + TextOf(slices[t]) + " = ";
    // The others may be plain.
    item.text += Hide(t == 0 || draw.Percent(60), drawn, &encoder, slices[t]) + ";";
    block.targets[t].end = static_cast<unsigned short>(encoder.steps());
    block.targets[t].count = static_cast<unsigned>(count);
    item.arrays.push_back(array);
    array = tools->memory.SomeBut(array);
  }
  if (block.gathers != 0 && draw.Percent(50)) {  // What is read is hidden, what is written is not.
    std::swap(slices[0], slices[1]);
    std::swap(block.targets[0], block.targets[1]);
  }
  item.arrays.insert(item.arrays.end(), encoder.arrays().begin(), encoder.arrays().end());
  item.submit = LaunchOf(tools->machine.Walk(), shape, block);
  Memory* const memory = &tools->memory;
  item.effect = [memory, slices, gathers = block.gathers, value = block.value] {
    if (gathers == 0) {
      for (const Slice& slice : slices) AddToSlice(memory, slice, value);
      return;
    }
    for (size_t i = 0; i < slices[0].count; ++i) {
      const Word word = (*memory)[slices[1].array].Get(slices[1].first + i);
      (*memory)[slices[0].array].Set(slices[0].first + i, word + value);
    }
  };
  bundle.push_back(std::move(item));
  return bundle;
}

}  // namespace

const char* NameOfKind(Kind kind) {
  static constexpr const char* kNames[] = {"honest", "found", "listed", "drawn"};
  return kNames[static_cast<size_t>(kind)];
}

unsigned SomePause(bool lasting, Draw* draw) {
  if (lasting) return static_cast<unsigned>(draw->Between(20'000, 100'000));
  return draw->Percent(80) ? 0 : static_cast<unsigned>(draw->Between(500, 20'000));
}

Bundle WalkLaunch(bool drawn, bool lasting, Tools* tools) {
  for (;;) {
    try {
      return TryWalk(drawn, lasting, tools);
    } catch (const NoRoom&) {
      // Another draw needs less.
    }
  }
}

Bundle LaunchOfKind(Kind kind, bool captured, bool lasting, Tools* tools) {
  switch (kind) {
    case Kind::kHonest:
      return HonestLaunch(lasting, tools);
    case Kind::kFound:
      return FoundLaunch(captured, lasting, tools);
    default:
      return WalkLaunch(kind == Kind::kDrawn, lasting, tools);
  }
}

}  // namespace odd
