// Programs that do as nvdisasm does, or do not.
#ifndef VRAMSPAN_TESTS_PROVE_FAKE_NVDISASM_H_
#define VRAMSPAN_TESTS_PROVE_FAKE_NVDISASM_H_

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/base/log.h"

namespace vramspan::prove {

// A folder with programs in it, for the length of a test.
class FolderOfPrograms {
 public:
  FolderOfPrograms() {
    std::string name = (std::filesystem::temp_directory_path() / "vramspan-test-XXXXXX").string();
    VS_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~FolderOfPrograms() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderOfPrograms(const FolderOfPrograms&) = delete;
  FolderOfPrograms& operator=(const FolderOfPrograms&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name, const std::string& bytes) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // `script`: of sh.
  std::string Program(const std::string& name, const std::string& script) const {
    std::string path = File(name, "#!/bin/sh\n" + script + "\n");
    VS_CHECK(chmod(path.c_str(), 0755) == 0);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TESTS_PROVE_FAKE_NVDISASM_H_
