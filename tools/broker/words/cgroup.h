// Which cgroup a process is in, and which of its folders is the tenant.
//
// Pure: text in, text out. The text is the kernel's, but the names in it are whoever's made them.
#ifndef VRAMSPAN_TOOLS_BROKER_WORDS_CGROUP_H_
#define VRAMSPAN_TOOLS_BROKER_WORDS_CGROUP_H_

#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::broker {

// Of a /proc/PID/cgroup: the unified hierarchy's path, or where that is the root the memory
// controller's. "/" where neither is told.
std::string CgroupOf(std::string_view text);

// As an operator wrote it, brought to the form that the kernel has. Errors, in words: it is no
// path, or no process ever belongs to it, as TenantOf makes its user the tenant.
StatusOr<std::string> WrittenCgroup(std::string_view text);

// All sessions and services of a user are one tenant: who may log in once more, or makes cgroups in
// what systemd gave it, gets no more for that.
std::string TenantOf(std::string_view cgroup);

// `inner` is `outer` or lies inside of it.
bool IsWithin(std::string_view inner, std::string_view outer);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_WORDS_CGROUP_H_
