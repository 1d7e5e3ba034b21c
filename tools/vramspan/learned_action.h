// What `vramspan learned` can do.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_LEARNED_ACTION_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_LEARNED_ACTION_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/api/learned_files.h"
#include "runtime/base/status.h"
#include "runtime/placement/learned_kernels.h"
#include "tools/vramspan/action.h"

namespace vramspan::learned_command {

std::unique_ptr<Action> MakeList();   // learned_list.cc
std::unique_ptr<Action> MakeShow();   // learned_show.cc
std::unique_ptr<Action> MakeClear();  // learned_clear.cc

// The file whose key begins so; the newest one where `key` is empty. NotFound where there is none,
// InvalidArgument where it is no beginning of one file's key alone.
StatusOr<KeyedFiles::Entry> FindEntry(const std::vector<KeyedFiles::Entry>& entries,
                                      const std::string& key);
StatusOr<Learned> ReadLearned(const KeyedFiles& files, uint64_t key);
std::string KeyText(uint64_t key);
std::string AgoText(int64_t written);  // As "3 hours ago".

}  // namespace vramspan::learned_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_LEARNED_ACTION_H_
