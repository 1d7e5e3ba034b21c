// Writes a jump over the first bytes of a function, as libraries do that want to see every call of
// it, wherever the caller got the function from. x86-64 alone.
#ifndef VRAMSPAN_TESTS_PRELOAD_INLINE_PATCH_H_
#define VRAMSPAN_TESTS_PRELOAD_INLINE_PATCH_H_

#include <cstddef>
#include <string>

// The function of the driver's library itself, read from that library's tables: dlsym may answer
// another's. Ends the process with a line where there is none.
void* DriversOwn(const std::string& symbol);

class InlinePatch {
 public:
  // Calls of `function` go to `instead` from now on.
  InlinePatch(void* function, void* instead);

  // Does what the function did before, at an address of its own. Null where its first instruction
  // cannot be moved there: then Lifted serves.
  void* moved() const { return moved_; }

  // Calls it with the old bytes in their place. No other thread may call the function meanwhile.
  template <typename Call>
  auto Lifted(const Call& call) {
    Write(old_);
    const auto result = call();
    Write(jump_);
    return result;
  }

 private:
  // jmp *0(%rip), and the address behind it.
  static constexpr size_t kSize = 14;

  void Write(const unsigned char* bytes);
  unsigned char* PageNear() const;
  void Move();

  unsigned char* const at_;
  unsigned char old_[kSize] = {}, jump_[kSize] = {};
  void* moved_ = nullptr;
};

#endif  // VRAMSPAN_TESTS_PRELOAD_INLINE_PATCH_H_
