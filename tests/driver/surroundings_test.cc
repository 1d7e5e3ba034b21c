#include "runtime/driver/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/driver/stub_driver.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

TEST(KindOfDevice, IsInTheName) {
  for (const char* card :
       {"NVIDIA GeForce RTX 3060 Laptop GPU", "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-32GB",
        "NVIDIA A100-SXM4-40GB", "Quadro P4000", "NVIDIA A2", "NVIDIA L4", "", "C", "-C", "8C"}) {
    EXPECT_EQ(KindOfDevice(card), DeviceKind::kCard) << card;
  }
  for (const char* vgpu : {"GRID A100-10C", "NVIDIA A40-12Q", "GRID T4-1B", "GRID M60-8A",
                           "GRID A100-1-5C", "GRID A100-1-5CME"}) {
    EXPECT_EQ(KindOfDevice(vgpu), DeviceKind::kVgpu) << vgpu;
  }
  EXPECT_EQ(KindOfDevice("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), DeviceKind::kMig);
}

class SurroundingsTest : public ::testing::Test {
 protected:
  SurroundingsTest() {
    if (mkdtemp(folder_.data()) == nullptr) abort();
  }
  ~SurroundingsTest() override { std::filesystem::remove_all(folder_); }

  void Release(const char* text) const {
    std::filesystem::create_directories(folder_ + "/proc/sys/kernel");
    std::ofstream(folder_ + "/proc/sys/kernel/osrelease") << text;
  }

  std::string folder_ = testing::TempDir() + "/surroundings.XXXXXX";
  const std::shared_ptr<const Driver> driver_ = Driver::Load(kStubDriver).value();
};

TEST_F(SurroundingsTest, WslIsInTheKernelsName) {
  EXPECT_FALSE(UnderWsl(*driver_, folder_)) << "no such file";
  Release("6.1.0-28-amd64\n");
  EXPECT_FALSE(UnderWsl(*driver_, folder_));
  Release("5.15.153.1-microsoft-standard-WSL2\n");
  EXPECT_TRUE(UnderWsl(*driver_, folder_));
}

TEST_F(SurroundingsTest, OrInTheDriversFolder) {
  const std::string path = folder_ + "/usr/lib/wsl/lib/libcuda.so.1";
  std::filesystem::create_directories(folder_ + "/usr/lib/wsl/lib");
  std::filesystem::copy_file(kStubDriver, path);
  const auto driver = Driver::Load(path).value();
  EXPECT_TRUE(UnderWsl(*driver, folder_));
  EXPECT_EQ(SurroundingsText(*driver, "NVIDIA GeForce RTX 3060"), "under WSL2");
  EXPECT_EQ(SurroundingsText(*driver, "GRID A100-10C"), "a vGPU, under WSL2");
  EXPECT_THAT(WhatHelps(*driver, "NVIDIA GeForce RTX 3060"), HasSubstr("run on Linux itself"));
}

TEST_F(SurroundingsTest, EachHasItsAdvice) {
  Release("6.1.0-28-amd64\n");
  EXPECT_EQ(SurroundingsText(*driver_, "NVIDIA GeForce RTX 3060", folder_), "");
  EXPECT_EQ(SurroundingsText(*driver_, "NVIDIA A100 MIG 1g.5gb", folder_), "a MIG instance");
  EXPECT_THAT(WhatHelps(*driver_, "GRID A100-10C", folder_), HasSubstr("ask its administrator"));
  EXPECT_THAT(WhatHelps(*driver_, "NVIDIA GeForce RTX 3060", folder_), HasSubstr("--format issue"));
}

}  // namespace
}  // namespace vramspan
