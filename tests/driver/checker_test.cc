#include "runtime/driver/checker.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/driver/stub_driver.h"

namespace vramspan {
namespace {

// A library of this name, as long as it lives.
class Loaded {
 public:
  explicit Loaded(const std::string& name) {
    if (mkdtemp(folder_.data()) == nullptr) abort();
    const std::string path = folder_ + "/" + name;
    std::filesystem::copy_file(kStubFolder + "/stub_no_driver.so", path,
                               std::filesystem::copy_options::overwrite_existing);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  ~Loaded() {
    dlclose(library_);
    std::filesystem::remove_all(folder_);
  }

 private:
  // Of its own: other tests may run beside this one.
  std::string folder_ = testing::TempDir() + "/checkers.XXXXXX";
  void* library_ = nullptr;
};

TEST(Checker, IsKnownByItsLibrary) {
  EXPECT_EQ(CheckerBeside(), Checker::kNone);
  {
    const Loaded loaded("libcudadebugger.so.1");
    EXPECT_EQ(CheckerBeside(), Checker::kDebugger);
    EXPECT_STREQ(CheckerName(CheckerBeside()), "cuda-gdb");
  }
  {
    const Loaded loaded("libsanitizer-collection.so");
    EXPECT_EQ(CheckerBeside(), Checker::kSanitizer);
    EXPECT_STREQ(CheckerName(CheckerBeside()), "compute-sanitizer");
  }
  EXPECT_EQ(CheckerBeside(), Checker::kNone);
}

TEST(Checker, IsNotTakenForAnother) {
  const Loaded loaded("libdebugger.so");
  EXPECT_EQ(CheckerBeside(), Checker::kNone);
}

}  // namespace
}  // namespace vramspan
