#include "runtime/observe/hidden_pointers.h"
#include "runtime/observe/knowledge.h"
#include "runtime/observe/uploads.h"

namespace vramspan {

void AddRange(const Knowledge& known, uint64_t base, uint64_t size, bool write, bool linear,
              Submission* out) {
  known.arenas.set().Clip(base, size, [&](uint64_t from, uint64_t bytes) {
    out->touches.push_back(
        {.ptr = DevicePtr(from), .size = Bytes(bytes), .write = write, .linear = linear});
  });
}

void AddRows(const Knowledge& known, uint64_t base, uint64_t pitch, uint64_t width, uint64_t rows,
             bool write, Submission* out) {
  if (width == 0 || rows == 0) return;
  const uint64_t step = rows == 1 ? width : pitch;
  AddRange(known, base, (rows - 1) * step + width, write, /*linear=*/step == width, out);
}

void AddCopy(const Knowledge& known, uint64_t target, uint64_t source, uint64_t size, Source from,
             Submission* out) {
  AddRange(known, target, size, /*write=*/true, /*linear=*/true, out);
  AddRange(known, source, size, /*write=*/false, /*linear=*/true, out);
  if (from == Source::kDevice || size == 0) return;
  if (source == 0 || target == 0 || known.arenas.set().Has(source)) return;
  if (size >= Uploads::kLeast.value) out->uploads.push_back({DevicePtr(target), Bytes(size)});
  if (size > HiddenPointers::kMostScanned.value) return;
  out->host_copies.push_back(
      {reinterpret_cast<const void*>(source), DevicePtr(target), Bytes(size)});
}

}  // namespace vramspan
