// What `--help` of each command teaches: what it is for, how it is called, its options, its exit
// codes, and where to read more.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <gmock/gmock.h>

#include <vector>

#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string HelpOf(const std::string& command) {
  const Output help = RunBinary("", command + " --help");
  EXPECT_EQ(help.code, 0) << command << help.err;
  return help.out;
}

// The lines below one that begins with `title`, up to an empty one.
std::vector<std::string> Section(const std::string& help, const std::string& title) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string_view line : absl::StrSplit(help, '\n')) {
    if (inside && line.empty()) break;
    if (inside) lines.emplace_back(line);
    inside = inside || line.starts_with(title);
  }
  return lines;
}

// The commands that `help` lists, with a space behind `before`.
std::vector<std::string> CommandsOf(const std::string& help, const std::string& before) {
  std::vector<std::string> commands;
  for (const std::string& line : Section(help, "Subcommands:")) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    commands.push_back(before + words.front());
  }
  return commands;
}

std::vector<std::string> AllCommands() {
  std::vector<std::string> all = CommandsOf(HelpOf(""), "");
  for (const std::string name : {"broker", "trace"}) {
    for (const std::string& action : CommandsOf(HelpOf(name), name + " ")) all.push_back(action);
  }
  return all;
}

TEST(Help, ListsTheCommands) {
  EXPECT_THAT(AllCommands(),
              ::testing::IsSupersetOf({"audit", "demo", "info", "replay", "report", "run", "trace",
                                       "tune", "trace info", "trace dump", "trace import"}));
  EXPECT_EQ(RunBinary("", "help").out, HelpOf(""));
  EXPECT_EQ(RunBinary("", "help trace dump").out, HelpOf("trace dump"));
  EXPECT_EQ(RunBinary("", "help learned list").out, HelpOf("learned list"));
  EXPECT_EQ(RunBinary("", "help help").out, HelpOf(""));
}

TEST(Help, OfEachCommandTeaches) {
  for (const std::string& command : AllCommands()) {
    SCOPED_TRACE(command);
    const std::string help = HelpOf(command);
    EXPECT_THAT(help, HasSubstr("\nUsage: vramspan " + command + " ")) << "one line above it";
    const std::vector<std::string> examples = Section(help, "Examples");
    EXPECT_GE(examples.size(), 2u);
    EXPECT_THAT(examples, Each(StartsWith("  vramspan ")));
    EXPECT_THAT(help, HasSubstr("\n  vramspan " + command));
    EXPECT_THAT(Section(help, "Exit status"),
                AllOf(SizeIs(::testing::Ge(2u)),
                      Each(AnyOf(StartsWith("  0  "), StartsWith("  1  "), StartsWith("  2  "),
                                 StartsWith("  126  "), StartsWith("  127  ")))));
  }
}

TEST(Help, SaysWhatTheExitCodesMean) {
  EXPECT_THAT(Section(HelpOf("run"), "Exit status"),
              ElementsAre("  1    the run cannot be set up, or a file cannot be read",
                          "  2    the command line asks for something that is not there",
                          "  126  the program cannot be run", "  127  there is no such program"));
  EXPECT_THAT(Section(HelpOf("audit"), "Exit status: the program's own, or"),
              ElementsAre("  1    the audit failed or ended early; a sentence on stderr says why",
                          "  2    the command line was not understood",
                          "  126  the program cannot be run", "  127  there is no such program"));
  EXPECT_THAT(Section(HelpOf("info"), "Exit status"),
              ElementsAre("  0  vramspan works on at least one device shown",
                          "  1  vramspan works on none; a sentence on stderr says what is missing",
                          "  2  the command line was not understood"));
  EXPECT_THAT(Section(HelpOf("demo"), "Exit status"),
              ElementsAre("  0  all results are identical",
                          "  1  a result differs, or the demo could not run",
                          "  2  the command line asks for something that is not there"));
}

TEST(Help, NamesPagesThatAreThere) {
  std::vector<std::string> commands = AllCommands();
  commands.push_back("");
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const std::string help = HelpOf(command);
    const size_t more = help.find("\nRead more: ");
    ASSERT_NE(more, std::string::npos);
    const std::string pages(absl::StripAsciiWhitespace(help.substr(more + 12)));
    for (const std::string_view page : absl::StrSplit(pages, ", ")) {
      EXPECT_TRUE(std::filesystem::is_regular_file(absl::StrCat(SOURCE_FOLDER "/", page))) << page;
    }
  }
}

// A terminal of a hundred columns shows the lines as they are, and the words are all there.
TEST(Help, LinesAreBroken) {
  std::vector<std::string> commands = AllCommands();
  commands.push_back("");
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    for (const std::string_view line : absl::StrSplit(HelpOf(command), '\n')) {
      EXPECT_LE(line.size(), 100u) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
  std::string words;
  for (const std::string_view word :
       absl::StrSplit(HelpOf("run"), absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    absl::StrAppend(&words, word, " ");
  }
  EXPECT_THAT(words,
              HasSubstr("--device-memory SIZE Device memory for the program's data, as 8GiB, "
                        "or 50% of the device (default: the free memory less a head-room) "
                        "--host-memory SIZE "));
}

TEST(Help, SaysWhatValuesAndDefaultsAre) {
  const std::string help = HelpOf("trace import");
  EXPECT_THAT(help, AllOf(HasSubstr("-o,--output FILE "), HasSubstr("(required)")));
  EXPECT_THAT(HelpOf("replay"),
              HasSubstr("--format table|csv|json   How the result is printed (default: table)\n"));
  EXPECT_THAT(HelpOf("run"), AllOf(HasSubstr("--stats[=FILE] "), Not(HasSubstr("{-}")),
                                   HasSubstr("\nMemory:\n"), HasSubstr("\nWhat moves:\n")));
}

TEST(Help, AValueThatIsMissingIsSaidInPlainWords) {
  for (const std::string option : {"--overlap", "--record"}) {
    const Output said = RunBinary("", "run " + option);
    EXPECT_EQ(said.code, 2);
    EXPECT_EQ(said.err, "vramspan run: " + option +
                            " needs a value\n`vramspan run --help` says what there is.\n");
  }
}

}  // namespace
}  // namespace vramspan
