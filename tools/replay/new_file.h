// A file that is written from the start to its end, and is not there if that fails.
#ifndef VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_
#define VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::replay {

class NewFile {
 public:
  // AlreadyExists where there is one and not `force`, which replaces it. Errors name it.
  static StatusOr<std::unique_ptr<NewFile>> Open(const std::string& path, bool force);
  // Removes what was written, unless it was closed. Pipes and devices are never removed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // What goes wrong is told by Close.
  void Write(std::string_view bytes);
  Status Close();

 private:
  NewFile(std::FILE* file, std::string path);
  void Remove() const;

  std::FILE* file_;
  const std::string path_;
  bool regular_ = false;
  int error_ = 0;  // The first that there was.
};

// FailedPrecondition where `output` is the file `other`, which writing would destroy. `what` names
// that: "the trace that is read".
Status RefuseSameFile(const std::string& output, const std::string& other, std::string_view what);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_
