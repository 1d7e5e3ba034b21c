// Says on stderr how far the demo is: one line that is rewritten on a terminal, plain lines else,
// nothing if told so.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_PROGRESS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_PROGRESS_H_

#include <string>

namespace vramspan::demo {

class Progress {
 public:
  enum class Style { kNone, kLines, kTerminal };
  // kTerminal where stderr is one.
  static Style StyleOfStderr();

  explicit Progress(Style style) : style_(style) {}
  // Ends the line that is being rewritten.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Something worth a line of its own everywhere.
  void Note(const std::string& text);
  // A part of the demo begins, and then gets on: lines only tell of the beginning.
  void Begin(const std::string& part);
  void Step(const std::string& detail);

 private:
  void Rewrite(const std::string& text);

  const Style style_;
  std::string part_;
  size_t shown_ = 0;  // Width of the line being rewritten.
};

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_PROGRESS_H_
