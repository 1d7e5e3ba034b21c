// What a program asks about its memory. Lines say only what must be the same with vramspan.
#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/preload/program_scenarios.h"

namespace {

struct Queries {
#define QUERY_CALLS(X)                            \
  X(DeviceTotalMem, cuDeviceTotalMem_v2)          \
  X(MemGetInfo, cuMemGetInfo_v2)                  \
  X(MemGetAddressRange, cuMemGetAddressRange_v2)  \
  X(PointerGetAttribute, cuPointerGetAttribute)   \
  X(PointerGetAttributes, cuPointerGetAttributes) \
  X(PointerSetAttribute, cuPointerSetAttribute)
#define X(field, symbol) decltype(&::symbol) field = nullptr;
  QUERY_CALLS(X)
#undef X
};

Queries OpenQueries() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  Queries q;
#define X(field, symbol)                                                 \
  q.field = reinterpret_cast<decltype(q.field)>(dlsym(driver, #symbol)); \
  CHECK(q.field != nullptr);
  QUERY_CALLS(X)
#undef X
  return q;
}

constexpr size_t kGranule = size_t{2} << 20;

// A pointer attribute as a word: addresses relative to the base, ids by their order. How small
// allocations lie in the blocks that they share is nobody's affair.
class Words {
 public:
  std::string Of(CUpointer_attribute attribute, CUdeviceptr base, unsigned long long raw,
                 CUcontext context) {
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        return raw == reinterpret_cast<unsigned long long>(context) ? "the context" : "another";
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        if (raw == 0) return "0";
        return "base + " + std::to_string(raw - base);
      case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        if (raw == 0) return "0";
        return raw <= base && base - raw < kGranule ? "the block" : "elsewhere";
      case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return raw == 0 ? "0" : "an id";
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        if (raw == 0) return "0";
        return "id " + std::to_string(ids_.emplace(raw, ids_.size()).first->second);
      default:
        return std::to_string(raw);
    }
  }

 private:
  std::map<unsigned long long, size_t> ids_;
};

struct Asker {
  Program* p;
  const Queries& q;
  Words words;

  void Pointer(const char* what, CUdeviceptr base, size_t offset) {
    const CUdeviceptr at = base + offset;
    CUdeviceptr start = 7;
    size_t size = 7;
    const CUresult range = q.MemGetAddressRange(&start, &size, at);
    std::printf("%s range: %d %lld %zu; ", what, range,
                range == CUDA_SUCCESS ? static_cast<long long>(start - base) : -1, size);
    std::printf("%d ", q.MemGetAddressRange(nullptr, &size, at));
    std::printf("%d ", q.MemGetAddressRange(&start, nullptr, at));
    std::printf("%d\n", q.MemGetAddressRange(nullptr, nullptr, at));
    std::vector<CUpointer_attribute> attributes;
    for (int a = 0; a <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE + 1; ++a) {
      const auto attribute = static_cast<CUpointer_attribute>(a);
      if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) continue;
      unsigned long long raw = 0;
      const CUresult result = q.PointerGetAttribute(&raw, attribute, at);
      std::printf("%s attribute %d: %d %s\n", what, a, result,
                  words.Of(attribute, base, raw, p->context).c_str());
      if (a <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE && a != 0) {
        attributes.push_back(attribute);
      }
    }
    std::printf("%s no room: %d\n", what,
                q.PointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    std::vector<unsigned long long> raw(attributes.size(), 0);
    std::vector<void*> data;
    for (unsigned long long& r : raw) data.push_back(&r);
    std::printf("%s all: %d", what,
                q.PointerGetAttributes(static_cast<unsigned>(attributes.size()), attributes.data(),
                                       data.data(), at));
    for (size_t i = 0; i < raw.size(); ++i) {
      std::printf(" %s;", words.Of(attributes[i], base, raw[i], p->context).c_str());
    }
    std::printf("\n%s none: %d\n", what, q.PointerGetAttributes(0, nullptr, nullptr, at));
  }
};

// Memory lies within one block, and has its id; those of a block share it, others do not.
void CheckBlocks(const Queries& q, const std::vector<CUdeviceptr>& memory, const size_t* sizes) {
  std::map<unsigned long long, CUdeviceptr> bases;
  std::map<CUdeviceptr, unsigned long long> ids;
  for (size_t i = 0; i < memory.size(); ++i) {
    CUdeviceptr base = 0;
    size_t size = 0;
    unsigned long long id = 0, buffer = 0;
    const CUdeviceptr m = memory[i];
    CHECK_OK(q.PointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, m));
    CHECK_OK(q.PointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, m));
    CHECK_OK(q.PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, m));
    CHECK_OK(q.PointerGetAttribute(&buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID, m));
    CHECK(base % kGranule == 0 && size % kGranule == 0);
    CHECK(base <= m && m + sizes[i] <= base + size);
    CHECK(id != 0 && id != buffer);
    CHECK(bases.emplace(id, base).first->second == base);
    CHECK(ids.emplace(base, id).first->second == id);
  }
  // The first two are alike, and go together.
  CHECK(bases.size() < memory.size());
}

struct Info {
  size_t free = 0, total = 0;
};
Info Ask(const Queries& q) {
  Info info;
  CHECK_OK(q.MemGetInfo(&info.free, &info.total));
  CHECK(info.free <= info.total);
  return info;
}

}  // namespace

void AskQueries(Program* p) {
  const Queries q = OpenQueries();
  size_t early = 7;
  std::printf("before init: %d %d\n", q.MemGetInfo(&early, nullptr),
              q.DeviceTotalMem(&early, p->device));
  p->Start();
  Asker ask{p, q, {}};
  const size_t sizes[] = {1, 257, 300000, kGranule, 3 * kGranule + 1};
  std::vector<CUdeviceptr> memory;
  for (const size_t size : sizes) {
    CUdeviceptr m = 0;
    CHECK_OK(p->api.MemAlloc(&m, size));
    memory.push_back(m);
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    const std::string name = std::to_string(sizes[i]);
    ask.Pointer(name.c_str(), memory[i], 0);
    ask.Pointer((name + " last").c_str(), memory[i], sizes[i] - 1);
  }
  CheckBlocks(q, memory, sizes);
  const unsigned one = 1;
  for (const CUpointer_attribute attribute :
       {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_BUFFER_ID}) {
    std::printf("set %d: %d %d\n", attribute, q.PointerSetAttribute(&one, attribute, memory[4]),
                q.PointerSetAttribute(nullptr, attribute, memory[4]));
  }
  CHECK_OK(p->api.MemFree(memory[4]));
  CHECK_OK(p->api.MemFree(memory[0]));
  ask.Pointer("freed", memory[4], 0);
  std::printf("set freed: %d\n",
              q.PointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory[4]));
  int local = 0;
  ask.Pointer("stack", reinterpret_cast<CUdeviceptr>(&local), 0);
  void* pinned = nullptr;
  CHECK_OK(p->api.MemHostAlloc(&pinned, 4096, 0));
  ask.Pointer("pinned", reinterpret_cast<CUdeviceptr>(pinned), 16);
  CHECK_OK(p->api.MemFreeHost(pinned));
  for (const int i : {1, 2, 3}) CHECK_OK(p->api.MemFree(memory[static_cast<size_t>(i)]));
}

// The device's memory as it is used up: what is allocated is what free memory falls by.
void AskCapacity(Program* p) {
  const Queries q = OpenQueries();
  p->Start();
  CUdeviceptr first = 0;
  CHECK_OK(p->api.MemAlloc(&first, 256));
  const Info start = Ask(q);
  size_t total = 0;
  CHECK_OK(q.DeviceTotalMem(&total, p->device));
  std::printf("total: %zu %d\n", start.total, total == start.total);
  size_t only = 0;
  CHECK_OK(q.MemGetInfo(nullptr, &only));
  CHECK(only == start.total);
  CHECK_OK(q.MemGetInfo(&only, nullptr));
  CHECK(only == start.free);
  CHECK_OK(q.MemGetInfo(nullptr, nullptr));
  std::vector<CUdeviceptr> memory;
  size_t taken = 0;
  for (const size_t size : {size_t{300}, kGranule, kGranule + 1, 5 * kGranule, kGranule * 2 - 1}) {
    CUdeviceptr m = 0;
    CHECK_OK(p->api.MemAlloc(&m, size));
    memory.push_back(m);
    const Info now = Ask(q);
    CHECK(now.total == start.total);
    taken = start.free - now.free;
    std::printf("taken: %zu\n", taken);
  }
  for (const CUdeviceptr m : memory) CHECK_OK(p->api.MemFree(m));
  std::printf("all back: %d\n", Ask(q).free == start.free);
  CHECK_OK(p->api.MemFree(first));
}

// Takes what is said to be free, in pieces, and works on it.
void TakeWhatIsFree(Program* p) {
  const Queries q = OpenQueries();
  p->Start();
  const Info start = Ask(q);
  size_t total = 0;
  CHECK_OK(q.DeviceTotalMem(&total, p->device));
  CHECK(total == start.total);
  std::printf("total %zu MiB\n", start.total >> 20);
  size_t last = start.free;
  std::vector<CUdeviceptr> memory;
  while (Ask(q).free >= kGranule) {
    CUdeviceptr m = 0;
    CHECK_OK(p->api.MemAlloc(&m, kGranule));
    memory.push_back(m);
    const Info now = Ask(q);
    CHECK(now.total == start.total && now.free < last);
    last = now.free;
  }
  std::printf("took %zu MiB\n", memory.size() * kGranule >> 20);
  p->Work(memory, kGranule, 1);
  CHECK(Ask(q).free <= last);
  for (const CUdeviceptr m : memory) CHECK_OK(p->api.MemFree(m));
}

// NVML's numbers beside the driver's, asked for by the three ways. The NVML is that of
// other_nvml.cc, which has two devices and need not be initialised.
void AskNvml(Program* p) {
  struct Memory {
    unsigned long long total, free, used;
  };
  struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
  };
  using GetInfo = int (*)(void*, Memory*);
  using GetInfoV2 = int (*)(void*, MemoryV2*);
  using GetHandle = int (*)(unsigned, void**);
  CHECK(!HasGlobal("nvmlDeviceGetMemoryInfo"));
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml == nullptr) Fail(dlerror());
  const auto handle_by_index =
      reinterpret_cast<GetHandle>(dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2"));
  const auto get = reinterpret_cast<GetInfo>(dlsym(nvml, "nvmlDeviceGetMemoryInfo"));
  const auto get2 = reinterpret_cast<GetInfoV2>(dlsym(nvml, "nvmlDeviceGetMemoryInfo_v2"));
  CHECK(handle_by_index != nullptr && get != nullptr && get2 != nullptr);
  CHECK(dlsym(nvml, "nvmlDeviceGetMemoryInfo_v3") == nullptr && dlerror() != nullptr);
  void* devices[2];
  for (unsigned i = 0; i < 2; ++i) CHECK(handle_by_index(i, &devices[i]) == 0);
  const auto show = [&](const char* when) {
    for (void* const device : devices) {
      Memory m{};
      MemoryV2 m2{};
      m2.version = 2u << 24 | sizeof(MemoryV2);
      CHECK(get(device, &m) == 0 && get2(device, &m2) == 0);
      CHECK(m.total == m.free + m.used && m2.total == m2.reserved + m2.free + m2.used);
      CHECK(m.total == m2.total && m2.version == (2u << 24 | sizeof(MemoryV2)));
      std::printf("%s: %llu of %llu MiB used, %llu by v2\n", when, m.used >> 20, m.total >> 20,
                  m2.used >> 20);
    }
  };
  show("before");
  p->Start();
  CUdeviceptr memory = 0;
  CHECK_OK(p->api.MemAlloc(&memory, 8 * kGranule));
  show("with 16 MiB");
  std::printf("no room: %d %d\n", get(devices[0], nullptr), get2(devices[0], nullptr));
  CHECK_OK(p->api.MemFree(memory));
  show("freed");
}
