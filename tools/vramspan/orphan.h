// This very program, started so that nobody who starts it has anything of it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_ORPHAN_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_ORPHAN_H_

namespace vramspan::run {

// Starts it with these words and variables, each ending with null, in a session of its own. It is
// no child of this process, whatever that becomes, and has no descriptor, signal or folder of it.
// 0, or errno: then it is not there. REQUIRES: no other thread is there.
int StartOrphan(char* const* arguments, char* const* variables);

}  // namespace vramspan::run

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_ORPHAN_H_
