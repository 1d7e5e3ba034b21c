// The table of variables against the sources that read them.
#include "runtime/base/variables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace vramspan {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

std::set<std::string> Names(absl::Span<const std::string_view> all) {
  return {all.begin(), all.end()};
}

std::set<std::string> Without(std::set<std::string> these, const std::set<std::string>& those) {
  std::erase_if(these, [&those](const std::string& name) { return those.contains(name); });
  return these;
}

// The names in the sources of these folders that stand behind one of `before`, and are its whole
// word but for a value.
std::set<std::string> Found(std::initializer_list<const char*> folders,
                            std::initializer_list<std::string_view> before) {
  const std::filesystem::path root = VRAMSPAN_SOURCES;
  const std::set<std::string> kinds = {".cc", ".h", ".inc", ".py", ".sh"};
  std::set<std::string> names;
  const auto look = [&](std::string_view text) {
    for (size_t at = 0; (at = text.find(kVariablePrefix, at)) != text.npos; ++at) {
      const std::string_view ahead = text.substr(0, at);
      if (std::none_of(before.begin(), before.end(),
                       [&](std::string_view each) { return ahead.ends_with(each); })) {
        continue;
      }
      const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at);
      if (end == at + kVariablePrefix.size()) continue;  // What others begin with.
      if (end != text.npos && (text[end] == '"' || text[end] == '=')) {
        names.emplace(text.substr(at, end - at));
      }
    }
  };
  for (const char* const folder : folders) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!kinds.contains(file.path().extension()) || file.path().stem() == "variables") continue;
      std::ifstream in(file.path(), std::ios::binary);
      look(std::string((std::istreambuf_iterator<char>(in)), {}));
    }
  }
  return names;
}

TEST(VariablesTest, AreAllThatTheSourcesName) {
  const std::set<std::string> listed = Names(Variables());
  std::set<std::string> all = Names(VariablesOfTests());
  all.insert(listed.begin(), listed.end());
  std::set<std::string> named = Found({"runtime", "tools", "cupti_tracer"}, {"\""});
  EXPECT_THAT(Without(named, all), IsEmpty()) << "not in runtime/base/variables.cc";
  EXPECT_THAT(
      Without(Found({"bench", "examples", "tests"}, {"getenv(\"", "environ.get(\"", "environ[\""}),
              all),
      IsEmpty())
      << "not in runtime/base/variables.cc";
  named.insert(kToldVariable);
  EXPECT_THAT(Without(listed, named), IsEmpty()) << "nobody reads it";
}

TEST(VariablesTest, UnknownOnesAreNamedWithWhatIsNear) {
  const char* const known[] = {"VRAMSPAN_OVERLAP=all", "PATH=/", "VRAMSPAN", "VRAMSPAN_NIGHTLY=1",
                               nullptr};
  EXPECT_EQ(UnknownVariables(known), "");
  EXPECT_EQ(UnknownVariables(nullptr), "");
  const char* const two[] = {"VRAMSPAN_OVERLAPP=x", "VRAMSPAN_SOMETHING_ELSE=", nullptr};
  EXPECT_EQ(UnknownVariables(two),
            "VRAMSPAN_OVERLAPP is no variable of vramspan; did you mean 'VRAMSPAN_OVERLAP'? "
            "VRAMSPAN_SOMETHING_ELSE is no variable of vramspan");
  const char* const many[] = {"VRAMSPAN_A9=", "VRAMSPAN_B9=", "VRAMSPAN_C9=", "VRAMSPAN_\x1b=",
                              "VRAMSPAN_E9=", "VRAMSPAN_F9=", nullptr};
  const std::string text = UnknownVariables(many);
  EXPECT_THAT(text, StartsWith("VRAMSPAN_A9 is no variable of vramspan. VRAMSPAN_B9 is"));
  EXPECT_THAT(text, testing::EndsWith(". 2 more are none, either"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\x1b")));
}

}  // namespace
}  // namespace vramspan
