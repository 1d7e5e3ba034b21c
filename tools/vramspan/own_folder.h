// A folder for what a command has another program write, until it goes out of scope.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_OWN_FOLDER_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_OWN_FOLDER_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace vramspan {

class OwnFolder {
 public:
  // For this user alone, below the place for temporary files. `who` says so where it cannot be
  // removed.
  static StatusOr<std::unique_ptr<OwnFolder>> Make(const std::string& who, const std::string& what);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  OwnFolder(std::string who, std::string path);
  const std::string who_, path_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_OWN_FOLDER_H_
