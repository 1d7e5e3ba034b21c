// Commands and files, for tests that run the tool as a user does.
#ifndef VRAMSPAN_TESTS_REPORT_SHELL_H_
#define VRAMSPAN_TESTS_REPORT_SHELL_H_

#include <string>

namespace vramspan::replay {

// Runs a command line of the shell. Its exit code, or -1 where it did not end by itself.
int Shell(const std::string& line);

// These fail the test where they cannot.
std::string ReadWhole(const std::string& path);
void WriteWhole(const std::string& path, const std::string& text);

// A folder of this process's own, removed at its end unless a test failed.
const std::string& TestFolder();

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TESTS_REPORT_SHELL_H_
