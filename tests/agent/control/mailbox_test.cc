// Letters to the agent's loop: their order, their bound, and who is woken.
#include "agent/control/mailbox.h"

#include <gtest/gtest.h>

#include <string>

namespace stackray {
namespace {

Mailbox::Letter LetterOf(const std::string& name) {
  return {{.name = name}, [](ControlAnswer) {}};
}

TEST(Mailbox, KeepsTheOrderAndWakesForEach) {
  Mailbox mailbox;
  int woken = 0;
  EXPECT_TRUE(mailbox.Post(LetterOf("before anybody is woken")));
  mailbox.SetWaker([&] { ++woken; });
  EXPECT_TRUE(mailbox.Post(LetterOf("a")));
  EXPECT_TRUE(mailbox.Post(LetterOf("b")));
  EXPECT_EQ(woken, 2);
  const auto letters = mailbox.TakeAll();
  ASSERT_EQ(letters.size(), 3u);
  EXPECT_EQ(letters[1].request.name, "a");
  EXPECT_EQ(letters[2].request.name, "b");
  EXPECT_TRUE(mailbox.TakeAll().empty());
}

TEST(Mailbox, IsBounded) {
  Mailbox mailbox;
  for (size_t i = 0; i < Mailbox::kMostLetters; ++i) EXPECT_TRUE(mailbox.Post(LetterOf("x")));
  EXPECT_FALSE(mailbox.Post(LetterOf("one too many")));
  mailbox.TakeAll();
  EXPECT_TRUE(mailbox.Post(LetterOf("x")));
}

}  // namespace
}  // namespace stackray
