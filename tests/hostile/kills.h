// Commands that are killed at random moments, in a folder of their own that is gone with the
// fixture. VRAMSPAN_KILL_SEED sets the moments.
#ifndef VRAMSPAN_TESTS_HOSTILE_KILLS_H_
#define VRAMSPAN_TESTS_HOSTILE_KILLS_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>

namespace vramspan_test {

std::string TextOf(const std::filesystem::path& file);
std::set<std::string> NamesIn(const std::filesystem::path& folder);

class Kills : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Of each command: 20 of five, and a thousand with VRAMSPAN_NIGHTLY.
  static int Times();

  // What a shell makes of `text`, in work(), as a user runs it. TMPDIR is tmp().
  int Run(const std::string& text) const;
  std::string err() const { return TextOf(folder_ / "err"); }  // Of the last Run.

  // Runs it once to its end, then again and again, and kills it each time somewhere on the way.
  // No process of it stays. `check` looks at what else does, and then removes it.
  void KillOften(const std::string& text, const std::function<void()>& check);

  std::filesystem::path work() const { return folder_ / "work"; }
  std::filesystem::path tmp() const { return folder_ / "tmp"; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  pid_t Start(const std::string& text) const;
  static void ExpectNoProcess(pid_t leader);

  std::filesystem::path folder_;
  std::mt19937_64 random_;
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_HOSTILE_KILLS_H_
