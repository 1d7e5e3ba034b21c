// Errors inside the runtime are absl::Status. A status that came from the driver remembers the
// CUresult, so that the C ABI can give it back unchanged; one made here maps to the nearest.
#ifndef VRAMSPAN_RUNTIME_BASE_STATUS_H_
#define VRAMSPAN_RUNTIME_BASE_STATUS_H_

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <cuda.h>

#include <string_view>

namespace vramspan {

using absl::Status;
using absl::StatusOr;

// "cuMemMap(0x7f..+2097152): CUDA_ERROR_OUT_OF_MEMORY". `call` names the
// function; `detail` says to what, and may be empty. REQUIRES: result != CUDA_SUCCESS.
Status DriverError(CUresult result, std::string_view call, std::string_view detail = {});

// The CUresult a caller of the C ABI gets. Driver errors keep theirs.
CUresult ToCuResult(const Status& status);

// The enumerator's name, from a table of our own (a driver may not be loaded), or "CUresult 123".
std::string CuResultName(CUresult result);

}  // namespace vramspan

#define VS_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                               \
    if (::vramspan::Status vs_status_ = (expr); !vs_status_.ok()) return vs_status_; \
  } while (false)
#define VS_CONCAT_INNER_(a, b) a##b
#define VS_CONCAT_(a, b) VS_CONCAT_INNER_(a, b)
#define VS_ASSIGN_OR_RETURN(lhs, expr) VS_ASSIGN_OR_RETURN_(VS_CONCAT_(vs_or_, __LINE__), lhs, expr)
#define VS_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                         \
  if (!tmp.ok()) return tmp.status();        \
  lhs = *std::move(tmp)

#endif  // VRAMSPAN_RUNTIME_BASE_STATUS_H_
