// A runtime folder for programs that share a device by claims.
#ifndef VRAMSPAN_TESTS_BACKING_CLAIMS_FOLDER_H_
#define VRAMSPAN_TESTS_BACKING_CLAIMS_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace vramspan {

class ClaimsFolderTest : public ::testing::Test {
 protected:
  ClaimsFolderTest() {
    folder_ = (std::filesystem::temp_directory_path() / "vramspan claims-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
  }
  ~ClaimsFolderTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_BACKING_CLAIMS_FOLDER_H_
