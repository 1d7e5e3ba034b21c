// Folders and files of this user's alone, on this machine, in which programs of the user say
// something to each other.
//
// A folder on a file system that may hang, or that locks for one machine alone, is not used. A
// link, a pipe, or what others own or may change is left alone.
//
// Threads: any. Errors name what is meant. Unavailable: for now, as where there is no descriptor.
// ResourceExhausted: it is full. FailedPrecondition: it is not to be used.
#ifndef VRAMSPAN_RUNTIME_BASE_USER_FOLDER_H_
#define VRAMSPAN_RUNTIME_BASE_USER_FOLDER_H_

#include <string>
#include <utility>

#include "runtime/base/file_identity.h"
#include "runtime/base/status.h"

namespace vramspan {

struct UserFolder {
  std::string parent, name;
  // The parent is root's and everybody's, as /dev/shm; else it is the user's own.
  bool shared = false;

  std::string path() const { return parent + "/" + name; }
};

// A descriptor of a folder, by O_PATH. The program may close any number, and have it for something
// else: what is not held any more is let be.
class OpenedFolder {
 public:
  explicit OpenedFolder(int at) : at_(at), identity_(FileIdentity::Of(at)) {}
  OpenedFolder(OpenedFolder&& other) noexcept
      : at_(std::exchange(other.at_, -1)), identity_(other.identity_) {}
  OpenedFolder& operator=(OpenedFolder&&) = delete;
  ~OpenedFolder();

  int at() const { return at_; }
  // It is the caller's from here on.
  int Release() { return std::exchange(at_, -1); }
  bool held() const { return at_ >= 0 && FileIdentity::Of(at_) == identity_; }

 private:
  int at_;
  FileIdentity identity_;
};

StatusOr<OpenedFolder> OpenUserFolder(const UserFolder& folder);
// The same, made where there is none.
StatusOr<OpenedFolder> MakeUserFolder(const UserFolder& folder);

// Whether what lies in a folder can be on another machine; an error where it cannot be opened.
Status CheckOnThisMachine(const std::string& path);

// The file `name` in it, to read and write, made where there is none. `path` is for messages. The
// descriptor is the caller's.
StatusOr<int> OpenUserFile(int folder, const std::string& name, const std::string& path);
// The same, to be read, of one that is there. NotFound: another was renamed over it just now.
StatusOr<int> ReadUserFile(int folder, const std::string& name, const std::string& path);

// An error of the system's with `path`.
Status UserFileFailure(const std::string& path, int error);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_USER_FOLDER_H_
