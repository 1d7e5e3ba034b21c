// `encoded ROUNDS`: kernels that are given addresses in other forms than pointers, over more memory
// than fits. Each word is checked. Everything is in order, in one stream.
#include <cstdio>
#include <cstdlib>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

#pragma pack(push, 1)
struct PackedPair {
  CUdeviceptr first;
  unsigned count;
  CUdeviceptr second;
};
#pragma pack(pop)

class Forms {
 public:
  explicit Forms(CUstream stream) : stream_(stream) {}

  // One kernel of each form adds 1 to both.
  void AddToBoth(CUdeviceptr first, CUdeviceptr second) {
    size_t count = kBlockWords;
    Word value = 1;
    PackedPair pair = {first, static_cast<unsigned>(count), second};
    Launch("add_packed", pair, value);
    CUdeviceptr before = first - sizeof(Word), other = second - sizeof(Word);
    Launch("add_one_based", before, other, count, value);
    // From the one behind.
    CUdeviceptr behind = first > second ? first : second, ahead = first + second - behind;
    long long words = -static_cast<long long>(behind - ahead) / 8;
    Launch("add_apart", behind, words, count, value);
    size_t flagged = first | 1;
    auto low = static_cast<unsigned>(second), few = static_cast<unsigned>(count),
         high = static_cast<unsigned>(second >> 32);
    Launch("add_halves", flagged, low, few, high, value);
    size_t tagged = first | size_t{0xBEEF} << 48, too = second | size_t{1} << 63;
    Launch("add_tagged", tagged, too, count, value);
    size_t page = first >> 12, next = second >> 12;
    Launch("add_pages", page, next, count, value);
  }
  static constexpr Word kForms = 6;

 private:
  template <typename... Parameters>
  void Launch(const char* name, Parameters&... parameters) {
    CUfunction kernel = nullptr;
    OK(cuModuleGetFunction(&kernel, gpu.module, name));
    void* addresses[] = {&parameters...};
    OK(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, stream_, addresses, nullptr));
  }

  const CUstream stream_;
};

}  // namespace

HOSTILE_PROGRAM(encoded) {
  Start();
  const auto blocks = Blocks(24);
  Forms forms(MakeStream());
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int round = 0; round < rounds; ++round) {
    // By turns the one in front and the one behind.
    for (size_t i = 0; i + 3 < blocks.size(); i += 6) {
      for (size_t k = i; k < i + 3; ++k) {
        const bool turned = (k + static_cast<size_t>(round)) % 2 == 0;
        forms.AddToBoth(blocks[turned ? k + 3 : k], blocks[turned ? k : k + 3]);
      }
    }
  }
  OK(cuCtxSynchronize());
  size_t wrong = 0;
  for (const CUdeviceptr block : blocks) {
    wrong += WrongWords(block, Forms::kForms * static_cast<Word>(rounds));
  }
  std::printf("%zu words are wrong\n", wrong);
  return wrong != 0;
}
