// JSON as programs write it, made into JSON as a parser takes it, with the parser's memory bounded.
#ifndef VRAMSPAN_TOOLS_REPLAY_JSON_TEXT_H_
#define VRAMSPAN_TOOLS_REPLAY_JSON_TEXT_H_

#include <cstddef>
#include <streambuf>
#include <string>
#include <string_view>

namespace vramspan::replay {

// Passes text on as it is, and as long, but for:
// - NaN, Infinity and inf, with a sign or without, in any case: PyTorch and Python write them where
//   JSON has no word. Each becomes an empty string, which is no number to anybody either.
// - zero bytes at the end, which a file system may leave of a program that was killed: left out.
// It ends where a name, number or string is longer than `longest`, for the parser holds each whole.
class JsonText final : public std::streambuf {
 public:
  JsonText(std::streambuf* text, size_t longest) : text_(text), longest_(longest) {}

  bool too_long() const { return length_ > longest_; }
  // Whoever read asked for more than there is.
  bool ended() const { return ended_; }
  // The first few bytes, as they were.
  std::string_view begin() const { return begin_; }

 protected:
  int_type underflow() override;

 private:
  void Take(char c);
  void TakePlain(char c);
  void Put(std::string_view piece) { out_.append(piece); }

  std::streambuf* const text_;
  const size_t longest_;
  std::string raw_, out_, begin_;
  std::string word_;   // Of a token, as long as it may become a word that JSON does not have.
  size_t length_ = 0;  // Of the token so far.
  size_t zeros_ = 0;   // Held back: they may be the end.
  bool in_string_ = false;
  bool escaped_ = false;
  bool ended_ = false;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_JSON_TEXT_H_
