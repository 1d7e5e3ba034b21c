#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/driver/driver.h"
#include "tests/driver/stub_driver.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string MessageOf(const Status& status) { return std::string(status.message()); }

// Sets VRAMSPAN_DRIVER for a scope; null unsets it.
class DriverVariable {
 public:
  explicit DriverVariable(const char* value) {
    if (const char* before = std::getenv(kName)) before_ = before;
    Set(value);
  }
  ~DriverVariable() { Set(before_.has_value() ? before_->c_str() : nullptr); }

 private:
  static constexpr char kName[] = "VRAMSPAN_DRIVER";
  static void Set(const char* value) {
    if (value != nullptr) {
      setenv(kName, value, 1);
    } else {
      unsetenv(kName);
    }
  }
  std::optional<std::string> before_;
};

TEST(DriverLoad, ResolvesEveryCall) {
  const auto driver = Driver::Load(kStubDriver).value();
  EXPECT_EQ(driver->path(), kStubDriver);
  EXPECT_EQ(driver->version(), 13000);
#define EXPECT_RESOLVED(field, symbol) EXPECT_NE(driver->api().field, nullptr) << #symbol;
  VRAMSPAN_DRIVER_CALLS(EXPECT_RESOLVED)
#undef EXPECT_RESOLVED
  EXPECT_NE(driver->Symbol("stub_state"), nullptr);
  EXPECT_EQ(driver->Symbol("cuNothingOfTheKind"), nullptr);
}

// A driver of 12.5 has nothing newer. The simulated one knows since when there is what.
TEST(DriverLoad, EveryCallIsAsOldAsTheOldestDriver) {
  const auto driver = Driver::Load(SIMCUDA_LIBRARY).value();
  const auto ask =
      reinterpret_cast<decltype(&cuGetProcAddress)>(driver->Symbol("cuGetProcAddress_v2"));
  ASSERT_NE(ask, nullptr);
  const auto expect_old = [&](const std::string& symbol) {
    const std::string name = symbol.substr(0, symbol.find("_v"));
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(ask(name.c_str(), &found, 12050, CU_GET_PROC_ADDRESS_DEFAULT, &status), CUDA_SUCCESS);
    EXPECT_EQ(found, driver->Symbol(symbol.c_str())) << symbol << " is not what 12.5 has";
  };
#define EXPECT_OLD(field, symbol) expect_old(#symbol);
  VRAMSPAN_DRIVER_CALLS(EXPECT_OLD)
#undef EXPECT_OLD
}

TEST(DriverLoad, AMissingLibraryIsNamed) {
  const Status status = Driver::Load("/nowhere/libcuda.so.1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(status),
              AllOf(HasSubstr("/nowhere/libcuda.so.1"), HasSubstr("install the NVIDIA driver"),
                    HasSubstr("VRAMSPAN_DRIVER")));
}

TEST(DriverLoad, AnotherLibraryIsNoDriver) {
  const std::string path = kStubFolder + "/stub_no_driver.so";
  const Status status = Driver::Load(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(status), AllOf(HasSubstr(path), HasSubstr("is not a CUDA driver")));
}

TEST(DriverLoad, AnOldDriverSaysWhichVersionIsNeeded) {
  const Status status = Driver::Load(kStubFolder + "/stub_old.so").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(status),
              AllOf(HasSubstr("stub_old.so"), HasSubstr("version 11.8"), HasSubstr("needs 12.")));
}

TEST(DriverLoad, AMissingFunctionIsNamed) {
  const Status status = Driver::Load(kStubFolder + "/stub_incomplete.so").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(status),
              AllOf(HasSubstr("stub_incomplete.so"), HasSubstr("cuStreamWaitValue32_v2")));
}

TEST(DriverLoad, AFailingInitKeepsItsResult) {
  const Status status = Driver::Load(kStubFolder + "/stub_no_device.so").status();
  EXPECT_EQ(ToCuResult(status), CUDA_ERROR_NO_DEVICE);
  EXPECT_THAT(MessageOf(status), HasSubstr("cuInit"));
}

TEST(DriverLoad, AnEmptyPathMeansTheVariable) {
  const DriverVariable variable(kStubDriver.c_str());
  EXPECT_EQ(Driver::Load().value()->path(), kStubDriver);
  // A path that is given wins.
  EXPECT_THAT(MessageOf(Driver::Load("/nowhere/else.so").status()), HasSubstr("/nowhere/else.so"));
}

TEST(DriverLoad, TheVariableMayNameNothing) {
  const DriverVariable variable("/nowhere/named.so");
  EXPECT_THAT(MessageOf(Driver::Load().status()), HasSubstr("/nowhere/named.so"));
}

TEST(DriverCheck, NamesTheCallAndWhatItWasDoneTo) {
  EXPECT_TRUE(Check(CUDA_SUCCESS, "cuMemMap").ok());
  const Status status =
      Check(CUDA_ERROR_OUT_OF_MEMORY, "cuMemMap", RangeText(DevicePtr(0x7f1200000000), MiB(2)));
  EXPECT_THAT(MessageOf(status), AllOf(HasSubstr("cuMemMap"), HasSubstr("0x7f1200000000+2097152"),
                                       HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
}

class ScopedContextTest : public ::testing::Test {
 protected:
  void SetUp() override { state_ = StubState(); }

  std::shared_ptr<const Driver> driver_ = Driver::Load(kStubDriver).value();
  StubState& state_ = StateOf(*driver_);
};

TEST_F(ScopedContextTest, IsCurrentAndRelaxedInsideOnly) {
  state_.capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  {
    const ScopedContext scope(*driver_, nullptr);
    EXPECT_TRUE(scope.status().ok());
    EXPECT_EQ(state_.contexts, 1);
    EXPECT_EQ(state_.capture_mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  EXPECT_EQ(state_.contexts, 0);
  EXPECT_EQ(state_.capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_F(ScopedContextTest, ARefusedPushIsNotPopped) {
  state_.push_result = CUDA_ERROR_INVALID_CONTEXT;
  {
    const ScopedContext scope(*driver_, nullptr);
    EXPECT_EQ(ToCuResult(scope.status()), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_THAT(MessageOf(scope.status()), HasSubstr("cuCtxPushCurrent"));
  }
  EXPECT_EQ(state_.contexts, 0);
}

TEST_F(ScopedContextTest, ARefusedModeStillPopsTheContext) {
  state_.exchange_result = CUDA_ERROR_INVALID_VALUE;
  {
    const ScopedContext scope(*driver_, nullptr);
    EXPECT_EQ(ToCuResult(scope.status()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(state_.contexts, 1);
  }
  EXPECT_EQ(state_.contexts, 0);
}

}  // namespace
}  // namespace vramspan
