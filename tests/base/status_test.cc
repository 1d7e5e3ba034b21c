#include "runtime/base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DriverError, NamesCallDetailAndResult) {
  const Status status = DriverError(CUDA_ERROR_OUT_OF_MEMORY, "cuMemMap", "0x7f00+2097152");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cuMemMap"), HasSubstr("0x7f00+2097152"),
                    HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
}

TEST(DriverError, EveryResultComesBackUnchanged) {
  for (int value = 1; value < 1000; ++value) {
    const auto result = static_cast<CUresult>(value);
    const Status status = DriverError(result, "cuCall");
    ASSERT_FALSE(status.ok());
    ASSERT_EQ(ToCuResult(status), result);
    // A copy keeps it, and so does a StatusOr.
    const StatusOr<int> wrapped = status;
    ASSERT_EQ(ToCuResult(wrapped.status()), result);
  }
}

TEST(DriverError, HasTheCodeACallerActsOn) {
  const auto code = [](CUresult result) { return DriverError(result, "cuCall").code(); };
  EXPECT_EQ(code(CUDA_ERROR_OUT_OF_MEMORY), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(CUDA_ERROR_INVALID_VALUE), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CUDA_ERROR_INVALID_HANDLE), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CUDA_ERROR_NOT_FOUND), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(CUDA_ERROR_NOT_SUPPORTED), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code(CUDA_ERROR_NO_DEVICE), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(CUDA_ERROR_ILLEGAL_ADDRESS), absl::StatusCode::kInternal);
}

TEST(ToCuResult, MapsOurOwnErrorsToTheNearest) {
  EXPECT_EQ(ToCuResult(absl::OkStatus()), CUDA_SUCCESS);
  EXPECT_EQ(ToCuResult(absl::InvalidArgumentError("")), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ToCuResult(absl::OutOfRangeError("")), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ToCuResult(absl::ResourceExhaustedError("")), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(ToCuResult(absl::NotFoundError("")), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(ToCuResult(absl::UnimplementedError("")), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(ToCuResult(absl::FailedPreconditionError("")), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(ToCuResult(absl::DeadlineExceededError("")), CUDA_ERROR_TIMEOUT);
  EXPECT_EQ(ToCuResult(absl::InternalError("")), CUDA_ERROR_UNKNOWN);
}

TEST(CuResultName, KnowsNamesAndGivesNumbersElse) {
  EXPECT_EQ(CuResultName(CUDA_ERROR_ILLEGAL_ADDRESS), "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(CuResultName(static_cast<CUresult>(12345)), "CUresult 12345");
}

Status Fails() { return absl::AbortedError("early"); }
Status Passes(bool* reached) {
  VS_RETURN_IF_ERROR(absl::OkStatus());
  *reached = true;
  VS_RETURN_IF_ERROR(Fails());
  *reached = false;
  return absl::OkStatus();
}
StatusOr<std::unique_ptr<int>> Make(bool ok) {
  if (!ok) return absl::AbortedError("no int");
  return std::make_unique<int>(5);
}
StatusOr<int> Uses(bool ok) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<int> value, Make(ok));
  return *value + 1;
}

TEST(StatusMacros, ReturnEarlyAndPassValuesOn) {
  bool reached = false;
  EXPECT_EQ(Passes(&reached), absl::AbortedError("early"));
  EXPECT_TRUE(reached);
  EXPECT_EQ(Uses(true).value(), 6);
  EXPECT_EQ(Uses(false).status(), absl::AbortedError("no int"));
}

}  // namespace
}  // namespace vramspan
