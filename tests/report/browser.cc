#include "tests/report/browser.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/report/shell.h"

namespace vramspan::replay {
namespace {

constexpr int kExitNoCommand = 127;

std::string Chromium() {
  if (const char* given = std::getenv("VRAMSPAN_CHROMIUM")) return given;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (Shell(absl::StrCat("command -v ", name, " >/dev/null")) == 0) return name;
  }
  ADD_FAILURE()
      << "no Chromium here: install it (tools/setup.sh does), or name it in VRAMSPAN_CHROMIUM";
  return "chromium";
}

}  // namespace

Seen OpenInBrowser(const std::string& page, const View& view, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string dom = folder + "/dom.html", log = folder + "/log.txt";
  // A proxy that nothing listens to, and no name resolves: what is asked for cannot be answered.
  const std::string line = absl::StrCat(
      "timeout 60 '", Chromium(), "' --headless --no-sandbox --disable-gpu --no-first-run",
      " --disable-background-networking --disable-component-update --disable-sync",
      " --disable-dev-shm-usage --hide-scrollbars --enable-logging=stderr",
      " --proxy-server=127.0.0.1:9 --host-resolver-rules='MAP * ~NOTFOUND'", " --user-data-dir='",
      folder, "/profile' --window-size=", view.width, ",", view.height,
      view.dark ? " --blink-settings=preferredColorScheme=0" : "", " --dump-dom 'file://", page,
      "' >'", dom, "' 2>'", log, "'");
  Seen seen{.exit = Shell(line), .dom = ReadWhole(dom), .console = {}, .log = ReadWhole(log)};
  EXPECT_NE(seen.exit, kExitNoCommand) << line;
  for (const auto entry : absl::StrSplit(seen.log, '\n')) {
    if (entry.find(":CONSOLE:") != std::string::npos ||
        entry.find(":CONSOLE(") != std::string::npos) {
      seen.console.emplace_back(entry);
    }
  }
  return seen;
}

}  // namespace vramspan::replay
