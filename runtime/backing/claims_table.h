// The bytes of a claims file. Anybody's, until the magic says otherwise.
//
// Who changes what they mean changes the version, which is in the name of the file as well:
// programs of two versions do not see each other then, and none writes over what the other one
// reads.
#ifndef VRAMSPAN_RUNTIME_BACKING_CLAIMS_TABLE_H_
#define VRAMSPAN_RUNTIME_BACKING_CLAIMS_TABLE_H_

#include <cstdint>
#include <cstring>

namespace vramspan {

constexpr char kClaimsVersion = '1';
// So many programs are known at once.
constexpr uint32_t kMostClaims = 63;

struct ClaimRecord {
  uint64_t start = 0;  // Of the process, as the kernel has it.
  uint64_t space = 0;  // Its namespace of process numbers.
  uint64_t image = 0;  // Of what runs in it: a number by chance, another one after exec.
  uint64_t budget = 0;
  uint64_t taken = 0;
  uint64_t keeps = 0;  // Of the budget, whoever lacks memory; all of it where it is the user's.
  uint64_t until = 0;  // When it lapses, in nanoseconds of the monotonic clock.
  uint32_t pid = 0;    // 0: there is no claim.
  uint16_t serial = 0;
  uint16_t wants = 0;
};
static_assert(sizeof(ClaimRecord) == 64);

struct ClaimsTable {
  static constexpr char kMagic[16] = {'v', 'r', 'a', 'm', 's', 'p', 'a', 'n',
                                      ' ', 'c', 'l', 'a', 'i', 'm', 's', kClaimsVersion};

  char magic[16] = {};
  uint64_t writings = 0;  // How often it was written.
  ClaimRecord records[kMostClaims];

  bool Valid() const { return std::memcmp(magic, kMagic, sizeof(magic)) == 0; }
};
static_assert(sizeof(ClaimsTable) == 24 + 64 * kMostClaims);
// One page at most: whoever is killed while it writes has written all of it or nothing.
static_assert(sizeof(ClaimsTable) <= 4096);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_CLAIMS_TABLE_H_
