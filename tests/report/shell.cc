#include "tests/report/shell.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vramspan::replay {
namespace {

namespace fs = std::filesystem;

class RemoveFolder final : public testing::Environment {
 public:
  void TearDown() override {
    // Kept for whoever looks into a failure.
    if (testing::UnitTest::GetInstance()->Passed()) fs::remove_all(TestFolder());
  }
};

const testing::Environment* const kRemoveFolder =
    testing::AddGlobalTestEnvironment(new RemoveFolder);

}  // namespace

int Shell(const std::string& line) {
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteWhole(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  EXPECT_TRUE(file) << path;
}

const std::string& TestFolder() {
  static const std::string folder = [] {
    const fs::path path =
        fs::temp_directory_path() / absl::StrCat("vramspan-report-test-", getpid());
    fs::create_directories(path);
    return path.string();
  }();
  return folder;
}

}  // namespace vramspan::replay
