// A libnvoptix.so.1 as far as vramspan is concerned: a table whose third function makes a context.
// Its work comes to the memory as the device's does, past every function of the driver.
#include <cstddef>
#include <cstring>

namespace {

int Create(void*, const void*, void** context) {
  static int made;
  *context = &made;
  return 0;
}

// Adds to each word.
int Work(unsigned long long* words, size_t count, unsigned long long value) {
  for (size_t i = 0; i < count; ++i) __atomic_fetch_add(&words[i], value, __ATOMIC_RELAXED);
  return 0;
}

}  // namespace

// One table for all versions that it knows.
extern "C" __attribute__((visibility("default"))) int optixQueryFunctionTable(int abi, unsigned,
                                                                              int*, const void**,
                                                                              void* table,
                                                                              size_t table_bytes) {
  constexpr int kUnsupported = 7801;
  if (abi != 22 && abi != 118 && abi != 119) return kUnsupported;
  void* const functions[] = {nullptr, nullptr, reinterpret_cast<void*>(&Create),
                             reinterpret_cast<void*>(&Work)};
  if (table_bytes != sizeof(functions)) return kUnsupported;
  std::memcpy(table, functions, sizeof(functions));
  return 0;
}
