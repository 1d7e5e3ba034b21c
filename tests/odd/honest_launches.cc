#include <string>

#include "tests/odd/launches.h"

namespace odd {

Bundle HonestLaunch(bool lasting, Tools* tools) {
  Draw& draw = tools->draw;
  Memory* const memory = &tools->memory;
  const size_t count = draw.Between(1, 128);
  const size_t first = memory->Some(), second = memory->SomeBut(first),
               third = memory->SomeBut(second);
  const Slice to = memory->SomeSlice(first, count), left = memory->SomeSlice(second, count),
              right = memory->SomeSlice(third, count);
  const auto at = [&](const Slice& s) { return (*memory)[s.array].AddressOf(s.first); };
  const unsigned pause = SomePause(lasting, &draw);
  Item item;
  const auto is = [&](const char* name, auto... parameters) {
    item.text = tools->NameOf(name) + " " + TextOf(to);
    item.submit = LaunchOf(tools->Kernel(name), {1, draw.Percent(20)}, parameters...);
  };
  switch (draw.Below(3)) {
    case 0: {
      const Word value = draw.Word64();
      is("plain_add", at(to), count, value, pause);
      item.arrays = {first};
      item.effect = [=] { AddToSlice(memory, to, value); };
      break;
    }
    case 1:
      is("plain_copy", at(to), at(left), count, pause);
      item.text += " of " + TextOf(left);
      item.arrays = {first, second};
      item.effect = [=] {
        for (size_t i = 0; i < count; ++i) {
          (*memory)[to.array].Set(to.first + i, (*memory)[left.array].Get(left.first + i));
        }
      };
      break;
    default:
      // Words that lie over each other would be read after they were written.
      if (first == third) return HonestLaunch(lasting, tools);
      is("plain_sum", at(to), at(left), at(right), count, pause);
      item.text += " of " + TextOf(left) + ", " + TextOf(right);
      item.arrays = {first, second, third};
      item.effect = [=] {
        for (size_t i = 0; i < count; ++i) {
          (*memory)[to.array].Set(to.first + i, (*memory)[left.array].Get(left.first + i) +
                                                    (*memory)[right.array].Get(right.first + i));
        }
      };
  }
  return {item};
}

}  // namespace odd
