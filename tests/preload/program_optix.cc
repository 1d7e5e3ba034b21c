// A program whose memory OptiX uses, of which there is twice the budget.
#include <dlfcn.h>

#include <thread>

#include "tests/preload/program_scenarios.h"

namespace {

using Word = unsigned long long;
constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWords = kBytes / sizeof(Word);
// So many fill 64 MiB, and so many the budget's half.
constexpr size_t kBuffers = 16, kFew = 4;
constexpr int kRounds = 3;

// As in OptiX's headers, as far as tests/preload/other_optix.cc goes.
struct Table {
  void* texts[2];
  int (*create)(CUcontext, const void* options, void** context);
  int (*work)(Word* words, size_t count, Word value);
};

Table AskForTable(int abi) {
  void* const library = dlopen("libnvoptix.so.1", RTLD_NOW);
  CHECK(library != nullptr);
  const auto query = reinterpret_cast<int (*)(int, unsigned, int*, const void**, void*, size_t)>(
      dlsym(library, "optixQueryFunctionTable"));
  CHECK(query != nullptr);
  Table table{};
  CHECK(query(21, 0, nullptr, nullptr, &table, sizeof(table)) != 0);
  CHECK(table.create == nullptr);
  CHECK(query(abi, 0, nullptr, nullptr, &table, sizeof(table)) == 0);
  return table;
}

// Memory that is mapped where the program has reserved addresses before, by a thread without a
// context.
void MapAt(Program* p, CUdeviceptr at) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  CUmemGenericAllocationHandle handle = 0;
  std::thread([&] { CHECK_OK(p->api.MemCreate(&handle, kBytes, &properties, 0)); }).join();
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_OK(p->api.MemMap(at, kBytes, 0, handle, 0));
  CHECK_OK(p->api.MemSetAccess(at, kBytes, &access, 1));
  CHECK_OK(p->api.MemRelease(handle));
}

}  // namespace

void UseOptix(Program* p, const std::string& when) {
  p->Start();
  CUdeviceptr reserved = 0;
  const Table asked = AskForTable(22), table = AskForTable(when == "newer" ? 119 : 118);
  const auto begin = [&] {
    void* context = nullptr;
    CHECK(table.create(p->context, nullptr, &context) == 0);
    CHECK(context != nullptr);
    CHECK(asked.create(p->context, nullptr, &context) == 0);
  };
  std::vector<CUdeviceptr> buffers;
  const auto allocate = [&](size_t count) {
    while (buffers.size() < count) {
      buffers.push_back(0);
      CHECK_OK(p->api.MemAlloc(&buffers.back(), kBytes));
      p->Launch(p->fill_hash, buffers.back(), kWords, buffers.size());
    }
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  };
  if (when == "first") begin();
  allocate(when == "short" ? kBuffers : kFew);
  CHECK_OK(p->api.MemAddressReserve(&reserved, kBytes, 0, 0, 0));
  if (when == "late" || when == "short") begin();
  MapAt(p, reserved);
  p->Launch(p->fill_hash, reserved, kWords, 99);
  allocate(kBuffers);

  // Of each buffer OptiX has the second half.
  const Word hidden = when == "asked" || when == "newer" ? 0 : kRounds;
  std::thread optix([&] {
    for (Word round = 0; round < hidden; ++round) {
      for (const CUdeviceptr b : buffers) {
        table.work(reinterpret_cast<Word*>(b) + kWords / 2, kWords / 2, 1);
      }
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    for (const CUdeviceptr b : buffers) p->Launch(p->add_constant, b, kWords / 2, 1);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
  optix.join();
  std::vector<Word> words(kWords);
  for (size_t i = 0; i < kBuffers; ++i) {
    CHECK_OK(p->api.MemcpyDtoH(words.data(), buffers[i], kBytes));
    for (size_t w = 0; w < kWords; ++w) {
      const Word more = w < kWords / 2 ? Word{kRounds} : hidden;
      CHECK(words[w] == Program::Word(w, i + 1) + more);
    }
    CHECK_OK(p->api.MemFree(buffers[i]));
  }
  CHECK_OK(p->api.MemcpyDtoH(words.data(), reserved, kBytes));
  for (size_t w = 0; w < kWords; ++w) CHECK(words[w] == Program::Word(w, 99));
  CHECK_OK(p->api.MemUnmap(reserved, kBytes));
  CHECK_OK(p->api.MemAddressFree(reserved, kBytes));
}
