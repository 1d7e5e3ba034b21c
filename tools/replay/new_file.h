// Results as files: written beside the place where they shall be, and moved there when they are
// whole. Whatever happens before, what is there stays as it is.
#ifndef VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_
#define VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"

namespace vramspan::replay {

// Where a result goes, for whoever opens the file itself.
class OutputPlace {
 public:
  // AlreadyExists where something is there and not `force`. Errors name it, here and below.
  static StatusOr<std::unique_ptr<OutputPlace>> Find(const std::string& path, bool force);
  // Removes what was written beside the place and not moved.
  ~OutputPlace();
  OutputPlace(const OutputPlace&) = delete;
  OutputPlace& operator=(const OutputPlace&) = delete;

  // A file that is not there, in the same folder; a pipe or a device is written to itself.
  const std::string& writing() const { return writing_; }
  bool beside() const { return writing_ != target_; }
  // Once it is written and closed.
  Status Move();

 private:
  OutputPlace(std::string path, std::string target, std::string writing, bool force)
      : path_(std::move(path)),
        target_(std::move(target)),
        writing_(std::move(writing)),
        force_(force) {}

  const std::string path_;    // As it was given.
  const std::string target_;  // Where links lead.
  const std::string writing_;
  const bool force_;
  bool moved_ = false;
};

class NewFile {
 public:
  // As OutputPlace::Find. "-" is stdout.
  static StatusOr<std::unique_ptr<NewFile>> Open(const std::string& path, bool force);
  // Unless it was closed nothing is left of it.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // What goes wrong is told by Close: DataLoss.
  void Write(std::string_view bytes);
  Status Close();

 private:
  NewFile(std::FILE* file, std::string path, std::unique_ptr<OutputPlace> place)
      : file_(file), path_(std::move(path)), place_(std::move(place)) {}

  std::FILE* file_;
  const std::string path_;
  const std::unique_ptr<OutputPlace> place_;  // Null for stdout.
  int error_ = 0;                             // The first that there was.
};

// What Open would say: for who has long to work before there is something to write.
Status CheckNewFile(const std::string& path, bool force);
// A whole file at once.
Status WriteNewFile(const std::string& path, bool force, std::string_view bytes);

// FailedPrecondition where `output` is the file `other`, which writing would destroy. `what` names
// that: "the trace that is read".
Status RefuseSameFile(const std::string& output, const std::string& other, std::string_view what);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_NEW_FILE_H_
