#include "tests/odd/stores.h"

namespace odd {
namespace {

// By its position, because the array's address may be another by then.
std::function<void()> Sets(Tools* tools, size_t array, size_t word, Word value) {
  return [=] { tools->memory[array].Set(word, value); };
}

Item Copy(Tools* tools, const Word* from, size_t array, size_t word, Word value) {
  const CUdeviceptr to = tools->memory[array].AddressOf(word);
  return {"copy to " + TextOf({array, word, 1}),
          {array},
          [=](CUstream stream) { ODD_CU(cuMemcpyHtoDAsync(to, from, sizeof(Word), stream)); },
          Sets(tools, array, word, value)};
}

Item Fill(Tools* tools, size_t array, size_t word, bool upper, Word value) {
  const CUdeviceptr to = tools->memory[array].AddressOf(word) + (upper ? 4 : 0);
  const auto half = static_cast<unsigned>(upper ? value >> 32 : value);
  return {"fill half of " + TextOf({array, word, 1}),
          {array},
          [=](CUstream stream) { ODD_CU(cuMemsetD32Async(to, half, 1, stream)); },
          Sets(tools, array, word, value)};
}

Item Kernel(Tools* tools, size_t array, size_t word, Word value) {
  return {tools->NameOf("plain_store") + " to " + TextOf({array, word, 1}),
          {array},
          LaunchOf(tools->Kernel("plain_store"), {}, tools->memory[array].at, word, value ^ kMask),
          Sets(tools, array, word, value)};
}

}  // namespace

void AddStore(Tools* tools, StoreWay way, size_t array, size_t word, Word value, Bundle* bundle) {
  const Word* from = way == StoreWay::kPinnedCopy ? tools->PinnedWord(value) : nullptr;
  if (from == nullptr) from = tools->HostWord(value);
  if (way == StoreWay::kFill) {
    bundle->push_back(Fill(tools, array, word, false, value));
    bundle->push_back(Fill(tools, array, word, true, value));
  } else if (way == StoreWay::kKernel) {
    bundle->push_back(Kernel(tools, array, word, value));
  } else if (way == StoreWay::kTwoCopies) {
    const size_t other = tools->memory.SomeBut(array);
    const size_t at = tools->memory.NewSlot(other);
    bundle->push_back(Copy(tools, from, other, at, value));
    const CUdeviceptr source = tools->memory[other].AddressOf(at),
                      to = tools->memory[array].AddressOf(word);
    bundle->push_back(
        {"copy " + TextOf({other, at, 1}) + " to " + TextOf({array, word, 1}),
         {other, array},
         [=](CUstream stream) { ODD_CU(cuMemcpyDtoDAsync(to, source, sizeof(Word), stream)); },
         Sets(tools, array, word, value)});
  } else {
    bundle->push_back(Copy(tools, from, array, word, value));
  }
}

const char* NameOfWay(StoreWay way) {
  switch (way) {
    case StoreWay::kCopy:
      return "copy";
    case StoreWay::kPinnedCopy:
      return "pinned copy";
    case StoreWay::kFill:
      return "fills";
    case StoreWay::kKernel:
      return "kernel";
    default:
      return "two copies";
  }
}

}  // namespace odd
