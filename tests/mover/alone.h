// A test in a process of its own: for what stays as it is for the life of a process. The running
// test starts this program again with itself alone, and checks nothing but how that ended:
//
//   if (!IsAlone()) return ExpectPassesAlone();
//   ... the test
#ifndef VRAMSPAN_TESTS_MOVER_ALONE_H_
#define VRAMSPAN_TESTS_MOVER_ALONE_H_

#include <string>
#include <vector>

namespace vramspan_test {

bool IsAlone();
// `environment` (NAME=value) comes on top of this process's.
void ExpectPassesAlone(const std::vector<std::string>& environment = {});

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_ALONE_H_
