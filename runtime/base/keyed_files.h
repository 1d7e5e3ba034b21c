// Files of one kind in the user's cache, each known by a number:
// ${XDG_CACHE_HOME:-~/.cache}/vramspan/FOLDER/KEY.ENDING, of this user alone (user_folder.h).
//
// A file is written beside its place and renamed: whoever reads has a whole one or none, and of
// several who write at once the last one's stays. Threads and processes: any.
#ifndef VRAMSPAN_RUNTIME_BASE_KEYED_FILES_H_
#define VRAMSPAN_RUNTIME_BASE_KEYED_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/user_folder.h"

namespace vramspan {

class KeyedFiles {
 public:
  struct Kind {
    std::string_view folder, ending;  // "learned", ".learned". They outlive all else.
    size_t most_files;
    size_t most_text;  // Of one file.
  };

  // Those of this process's user. NotFound where the environment names no place for them.
  static StatusOr<KeyedFiles> OfUser(const Kind& kind);
  // In `cache`, which is there.
  KeyedFiles(const Kind& kind, std::string cache) : kind_(kind), cache_(std::move(cache)) {}

  std::string folder() const { return Place().path(); }
  std::string PathOf(uint64_t key) const { return folder() + "/" + NameOf(key); }

  // Whether files can lie there: not on another machine.
  Status Check() const;
  // NotFound where there is none; other errors name it and say why it is not read. Of a file that
  // is too long, a byte more than may be.
  StatusOr<std::string> Read(uint64_t key) const;
  // Makes the folders as well. Where there were as many as may be, the oldest go.
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

  std::string NameOf(uint64_t key) const;
  bool KeyOfName(std::string_view name, uint64_t* key) const;
  bool IsHalfName(std::string_view name) const;
  static constexpr std::string_view kHalfEnding = ".half";  // Of what is being written.

 private:
  UserFolder Place() const { return {cache_ + "/vramspan", std::string(kind_.folder)}; }
  StatusOr<OpenedFolder> Open() const;  // NotFound where there is none.
  StatusOr<OpenedFolder> Make() const;
  StatusOr<std::string> ReadOnce(uint64_t key) const;
  struct Found {
    std::vector<Entry> files;
    std::vector<std::string> halves;  // That are of nobody any more.
  };
  StatusOr<Found> Look(const OpenedFolder& opened) const;
  Status Prune() const;

  Kind kind_;
  std::string cache_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_KEYED_FILES_H_
