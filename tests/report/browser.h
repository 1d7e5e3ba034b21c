// Opens a page in a headless Chromium that can reach no network, and gives back what became of it.
#ifndef VRAMSPAN_TESTS_REPORT_BROWSER_H_
#define VRAMSPAN_TESTS_REPORT_BROWSER_H_

#include <string>
#include <vector>

namespace vramspan::replay {

struct View {
  int width = 1280, height = 2400;
  bool dark = false;  // What the system asks for.
};

struct Seen {
  int exit = -1;
  std::string dom;                   // The document as it stood when its scripts had run.
  std::vector<std::string> console;  // Lines that page or browser wrote to its console.
  std::string log;
};

// `folder` is for the browser's files and is this run's alone. Chromium is the command that
// VRAMSPAN_CHROMIUM names, or the first of its usual names that there is.
Seen OpenInBrowser(const std::string& page, const View& view, const std::string& folder);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TESTS_REPORT_BROWSER_H_
