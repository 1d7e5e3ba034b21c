#include "runtime/base/status.h"

#include <absl/strings/str_cat.h>

#include <charconv>
#include <optional>
#include <string>

namespace vramspan {
namespace {

constexpr char kResultPayload[] = "vramspan/CUresult";

struct Named {
  CUresult result;
  const char* name;
};
#define VS_NAMED(x) \
  { x, #x }
constexpr Named kNames[] = {
    VS_NAMED(CUDA_ERROR_INVALID_VALUE),
    VS_NAMED(CUDA_ERROR_OUT_OF_MEMORY),
    VS_NAMED(CUDA_ERROR_NOT_INITIALIZED),
    VS_NAMED(CUDA_ERROR_DEINITIALIZED),
    VS_NAMED(CUDA_ERROR_NO_DEVICE),
    VS_NAMED(CUDA_ERROR_INVALID_DEVICE),
    VS_NAMED(CUDA_ERROR_INVALID_IMAGE),
    VS_NAMED(CUDA_ERROR_INVALID_CONTEXT),
    VS_NAMED(CUDA_ERROR_NO_BINARY_FOR_GPU),
    VS_NAMED(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED),
    VS_NAMED(CUDA_ERROR_OPERATING_SYSTEM),
    VS_NAMED(CUDA_ERROR_INVALID_HANDLE),
    VS_NAMED(CUDA_ERROR_ILLEGAL_STATE),
    VS_NAMED(CUDA_ERROR_NOT_FOUND),
    VS_NAMED(CUDA_ERROR_NOT_READY),
    VS_NAMED(CUDA_ERROR_ILLEGAL_ADDRESS),
    VS_NAMED(CUDA_ERROR_LAUNCH_FAILED),
    VS_NAMED(CUDA_ERROR_NOT_PERMITTED),
    VS_NAMED(CUDA_ERROR_NOT_SUPPORTED),
    VS_NAMED(CUDA_ERROR_SYSTEM_NOT_READY),
    VS_NAMED(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    VS_NAMED(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    VS_NAMED(CUDA_ERROR_TIMEOUT),
    VS_NAMED(CUDA_ERROR_UNKNOWN),
};

absl::StatusCode CodeFor(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
      return absl::StatusCode::kInvalidArgument;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    case CUDA_ERROR_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case CUDA_ERROR_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

std::string CuResultName(CUresult result) {
  for (const Named& n : kNames) {
    if (n.result == result) return n.name;
  }
  return absl::StrCat("CUresult ", static_cast<int>(result));
}

Status DriverError(CUresult result, std::string_view call, std::string_view detail) {
  std::string text = absl::StrCat(call, "(", detail, "): ", CuResultName(result));
  Status status(CodeFor(result), text);
  status.SetPayload(kResultPayload, absl::Cord(absl::StrCat(static_cast<int>(result))));
  return status;
}

CUresult ToCuResult(const Status& status) {
  if (status.ok()) return CUDA_SUCCESS;
  if (const auto payload = status.GetPayload(kResultPayload); payload.has_value()) {
    const std::string digits(*payload);
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return static_cast<CUresult>(value);
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return CUDA_ERROR_INVALID_VALUE;
    case absl::StatusCode::kResourceExhausted:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case absl::StatusCode::kNotFound:
      return CUDA_ERROR_NOT_FOUND;
    case absl::StatusCode::kUnimplemented:
      return CUDA_ERROR_NOT_SUPPORTED;
    case absl::StatusCode::kFailedPrecondition:
      return CUDA_ERROR_ILLEGAL_STATE;
    case absl::StatusCode::kDeadlineExceeded:
      return CUDA_ERROR_TIMEOUT;
    default:
      return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace vramspan
