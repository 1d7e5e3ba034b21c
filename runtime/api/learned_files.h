// Where learned files lie, and how they are read and written (docs/learned.md):
// ${XDG_CACHE_HOME:-~/.cache}/vramspan/learned/KEY.learned, of this user alone (user_folder.h).
//
// A file is written beside its place and renamed: whoever reads has a whole one or none, and of
// several who write at once the last one's stays. Threads and processes: any.
#ifndef VRAMSPAN_RUNTIME_API_LEARNED_FILES_H_
#define VRAMSPAN_RUNTIME_API_LEARNED_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/user_folder.h"

namespace vramspan {

class LearnedFiles {
 public:
  static constexpr size_t kMostFiles = 256;

  // Those of this process's user. NotFound where the environment names no place for them.
  static StatusOr<LearnedFiles> OfUser();
  // In `cache`, which is there.
  explicit LearnedFiles(std::string cache) : cache_(std::move(cache)) {}

  std::string folder() const { return cache_ + "/vramspan/learned"; }
  std::string PathOf(uint64_t key) const { return folder() + "/" + NameOf(key); }

  // Whether files can lie there: not on another machine.
  Status Check() const;
  // NotFound where there is none; other errors name it and say why it is not read.
  StatusOr<std::string> Read(uint64_t key) const;
  // Makes the folders as well. Where there were kMostFiles, the oldest go.
  Status Write(uint64_t key, std::string_view text) const;

  struct Entry {
    uint64_t key = 0;
    int64_t written = 0;  // Seconds since 1970.
    uint64_t size = 0;
  };
  // The newest first; none where there is no folder.
  StatusOr<std::vector<Entry>> List() const;
  // NotFound where there is none.
  Status Remove(uint64_t key) const;
  // All of them, and what killed writers have left. How many files there were; the first error,
  // after all that can go has gone.
  StatusOr<size_t> RemoveAll() const;

  static std::string NameOf(uint64_t key);
  static bool KeyOfName(std::string_view name, uint64_t* key);
  static bool IsHalfName(std::string_view name);
  static constexpr std::string_view kEnding = ".learned";
  static constexpr std::string_view kHalfEnding = ".half";  // Of what is being written.

 private:
  UserFolder Place() const { return {cache_ + "/vramspan", "learned"}; }
  StatusOr<OpenedFolder> Open() const;  // NotFound where there is none.
  StatusOr<OpenedFolder> Make() const;
  StatusOr<std::string> ReadOnce(uint64_t key) const;
  Status Prune() const;

  std::string cache_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LEARNED_FILES_H_
