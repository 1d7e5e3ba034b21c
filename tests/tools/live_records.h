// Live records as a program would write them, in a folder of the test's own.
#ifndef VRAMSPAN_TESTS_TOOLS_LIVE_RECORDS_H_
#define VRAMSPAN_TESTS_TOOLS_LIVE_RECORDS_H_

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/live_place.h"
#include "runtime/api/live_record.h"
#include "runtime/base/process_start.h"
#include "runtime/base/user_folder.h"
#include "tests/tools/run_binary.h"
#include "tools/vramspan/top_records.h"

namespace vramspan {

class LiveRecords : public ::testing::Test {
 protected:
  LiveRecords() { MakeFolder(); }
  // Whatever the mask is.
  void MakeFolder() const {
    std::filesystem::create_directory(folder());
    chmod(folder().c_str(), 0700);
  }

  const std::string& run() const { return run_.path(); }
  std::string folder() const { return run() + "/vramspan"; }
  std::vector<UserFolder> places() const { return {{run(), "vramspan"}}; }

  // Of this process, which lives.
  static LiveRecord Own(uint32_t serial = 1) {
    LiveRecord r;
    r.pid = static_cast<uint32_t>(getpid());
    r.serial = serial;
    r.start = ProcessStart(getpid()).value_or(0);
    r.space = ProcessNumberSpace();
    r.image = 1000;
    struct stat exe;
    if (stat("/proc/self/exe", &exe) == 0) {
      r.exe_device = exe.st_dev;
      r.exe_inode = exe.st_ino;
    }
    std::strcpy(r.program, "trainer");
    std::strcpy(r.device, "NVIDIA Test");
    std::strcpy(r.uuid, "GPU-1");
    r.device_memory = uint64_t{8} << 30;
    r.began = r.written = top::SteadyNow();
    return r;
  }
  static std::string Bytes(LiveRecord r) {
    r.Seal();
    return {reinterpret_cast<const char*>(&r), sizeof(r)};
  }
  static std::string NameOf(const LiveRecord& r) { return LiveName(r.space, r.pid, r.serial); }
  std::string PathOf(const LiveRecord& r) const { return folder() + "/" + NameOf(r); }

  void Write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder() + "/" + name, std::ios::binary) << bytes;
    chmod((folder() + "/" + name).c_str(), 0600);
  }
  void Write(const LiveRecord& r) const { Write(NameOf(r), Bytes(r)); }

  Output Top(const std::string& arguments) const {
    return RunBinary("XDG_RUNTIME_DIR='" + run() + "'", "top " + arguments);
  }
  std::string pid() const { return std::to_string(getpid()); }

 private:
  const TemporaryFolder run_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_TOOLS_LIVE_RECORDS_H_
