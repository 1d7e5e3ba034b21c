// A folder that stands for the machine's root: /proc/meminfo, cgroup files. Removed at the end.
#ifndef VRAMSPAN_TESTS_BACKING_FAKE_ROOT_H_
#define VRAMSPAN_TESTS_BACKING_FAKE_ROOT_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/units.h"

namespace vramspan {

class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "vramspan-root-XXXXXX").string();
    VS_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  const std::string& path() const { return path_; }

  // Written by rename, as a file of the kernel changes: a reader sees the old text or the new one.
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path to = path_ + file;
    std::filesystem::create_directories(to.parent_path());
    const std::string temporary = to.string() + ".tmp";
    {
      std::ofstream out(temporary);
      out << text;
      VS_CHECK(out.good());
    }
    std::filesystem::rename(temporary, to);
  }

  void Memory(Bytes total, Bytes available) const {
    Write("/proc/meminfo", "MemTotal:       " + std::to_string(total.value >> 10) +
                               " kB\nMemFree:        1 kB\nMemAvailable:   " +
                               std::to_string(available.value >> 10) + " kB\nBuffers: 2 kB\n");
  }

 private:
  std::string path_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_BACKING_FAKE_ROOT_H_
