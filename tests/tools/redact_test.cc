#include "tools/vramspan/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/utsname.h>

namespace vramspan {
namespace {

using ::testing::Contains;
using ::testing::Not;

const Secrets kSecrets = {.homes = {"/home/ann", "/data/homes/ann/"},
                          .users = {"ann"},
                          .hosts = {"box.example.org", "box"}};

TEST(Redact, HomesBecomeATilde) {
  EXPECT_EQ(Redact("in /home/ann/.cache/x and /data/homes/ann", kSecrets), "in ~/.cache/x and ~");
  EXPECT_EQ(Redact("/home/anna/x, '/home/bob' (/home/bob/y)", kSecrets), "~/x, '~' (~/y)");
  EXPECT_EQ(Redact("/data/homes/annabel", kSecrets), "/data/homes/annabel") << "another's";
  EXPECT_EQ(Redact("/home/", kSecrets), "~");
}

TEST(Redact, NamesAreReplacedAsWholeWords) {
  EXPECT_EQ(Redact("ann's at box, box.example.org:22 (ann)", kSecrets),
            "USER's at HOST, HOST:22 (USER)");
  EXPECT_EQ(Redact("planned boxes: annals, ann_x, /mnt/ann/x", kSecrets),
            "planned boxes: annals, ann_x, /mnt/USER/x");
  EXPECT_EQ(Redact("", kSecrets), "");
  EXPECT_EQ(Redact("ann", {}), "ann");
}

TEST(Redact, ThisProcessHasNames) {
  setenv("USER", "somebody", 1);
  setenv("HOME", "/srv/somebody", 1);
  const Secrets own = OwnSecrets();
  EXPECT_THAT(own.users, Contains("somebody"));
  EXPECT_THAT(own.users, Not(Contains("root")));
  EXPECT_THAT(own.homes, Contains("/srv/somebody"));
  utsname system{};
  ASSERT_EQ(uname(&system), 0);
  if (std::string(system.nodename).size() > 1) {
    EXPECT_THAT(own.hosts, Contains(system.nodename));
  }
  setenv("USER", "x", 1);
  EXPECT_THAT(OwnSecrets().users, Not(Contains("x"))) << "every x would go";
}

}  // namespace
}  // namespace vramspan
