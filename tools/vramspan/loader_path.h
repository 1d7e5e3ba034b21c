// Paths as LD_PRELOAD and LD_LIBRARY_PATH can hold them. The loader splits both at spaces, colons
// or semicolons, replaces what follows a $, and knows no way to quote any of that.
//
// A library in a folder with such a name is reached by a link to the folder,
// PLACE/vramspan-UID/HASH. A link stands for a folder and not for a run: all runs share it, and the
// children of a run find it for as long as they live, whatever became of the process that made it.
// So a run that is killed leaves nothing of its own, and a link whose folder is gone is removed by
// the next run.
//
// PLACE is TMPDIR, /tmp or XDG_RUNTIME_DIR, the first that will do: what programs start after their
// user has logged out would miss a link in the last.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_LOADER_PATH_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_LOADER_PATH_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::run {

// The loader takes it as it is.
bool LoaderTakes(const std::string& path);

// `path`, which is absolute, or the same by a link that this makes where there is none. Others can
// neither put their own in a link's place nor read the links: PLACE, and all folders that it lies
// in, are nobody's but root's and the user's to change, and the folder there is the user's alone.
// FailedPrecondition says what is wrong with each place.
StatusOr<std::string> LoaderPath(const std::string& path, const std::vector<std::string>& places);

// Where links may be kept, by the environment.
std::vector<std::string> PlacesForLinks();

}  // namespace vramspan::run

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_LOADER_PATH_H_
