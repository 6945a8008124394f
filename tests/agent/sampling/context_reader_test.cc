// The reader of contexts against memory that changes while it is read, and against processes of
// this machine.
#include "agent/sampling/context_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <map>

#include "kernel/process_info.h"
#include "tests/agent/sampling/context_bytes.h"
#include "tests/agent/sampling/sampled_world.h"

namespace stackray::test {
namespace {

using Outcome = ContextReading::Outcome;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kHeaderAt = 0x1000, kPayloadAt = 0x9000;

// Pieces of memory, and what happens before a read.
class FakeMemory : public ProcessMemory {
 public:
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    ++reads;
    if (before_read) before_read(reads, address);
    const auto piece = pieces.find(address);
    if (gone || piece == pieces.end() || piece->second.size() < to.size()) return false;
    std::memcpy(to.data(), piece->second.data(), to.size());
    return true;
  }
  bool IsGone() const override { return gone; }

  void Publish(uint64_t published_at_ns, const std::string& payload) {
    pieces[kPayloadAt] = {payload.begin(), payload.end()};
    pieces[kHeaderAt] =
        ContextHeaderBytes(published_at_ns, kPayloadAt, static_cast<uint32_t>(payload.size()));
  }

  std::map<uint64_t, std::vector<uint8_t>> pieces;
  std::function<void(int read, uint64_t address)> before_read;
  int reads = 0;
  bool gone = false;
};

std::string Named(const std::string& service) {
  return Context(Attribute("service.name", service));
}

TEST(ReadContext, WholeAndThenOnlyItsHeader) {
  FakeMemory memory;
  memory.Publish(5, Named("shop"));
  const ContextReading reading = ReadContext(memory, kHeaderAt, 0);
  EXPECT_EQ(reading.outcome, Outcome::kRead);
  EXPECT_EQ(reading.published_at_ns, 5u);
  EXPECT_EQ(reading.context.service_name, "shop");
  memory.reads = 0;
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 5).outcome, Outcome::kSame);
  EXPECT_EQ(memory.reads, 1);
}

TEST(ReadContext, AnEmptyPayloadIsOne) {
  FakeMemory memory;
  memory.Publish(5, "");
  memory.pieces.erase(kPayloadAt);
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kRead);
}

// Between the payload and the second look at the header the writer begins, or begins and ends.
TEST(ReadContext, ATornOneIsReadAgain) {
  FakeMemory memory;
  memory.Publish(5, Named("old"));
  memory.before_read = [&](int read, uint64_t) {
    if (read == 2) memory.Publish(6, Named("new"));
  };
  const ContextReading reading = ReadContext(memory, kHeaderAt, 0);
  EXPECT_EQ(reading.outcome, Outcome::kRead);
  EXPECT_EQ(reading.published_at_ns, 6u);
  EXPECT_EQ(reading.context.service_name, "new");

  FakeMemory writing;
  writing.Publish(5, Named("old"));
  writing.before_read = [&](int read, uint64_t) {
    if (read == 3) writing.pieces[kHeaderAt] = ContextHeaderBytes(0, kPayloadAt, 1);
  };
  EXPECT_EQ(ReadContext(writing, kHeaderAt, 0).outcome, Outcome::kBusy);
}

TEST(ReadContext, AWriterThatNeverRestsIsLeft) {
  FakeMemory memory;
  memory.Publish(1, Named("x"));
  memory.before_read = [&](int read, uint64_t) {
    memory.Publish(1 + static_cast<uint64_t>(read), Named("x"));
  };
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kBusy);
  EXPECT_LE(memory.reads, 9);
}

TEST(ReadContext, WhatCannotBeUsed) {
  FakeMemory memory;
  memory.Publish(5, std::string(kMaxContextPayloadBytes + 1, '\0'));
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kUnusable) << "too large";
  memory.pieces[kHeaderAt] = ContextHeaderBytes(5, kPayloadAt, 0xffffffff);
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kUnusable) << "4 GiB";
  memory.pieces[kHeaderAt] = ContextHeaderBytes(5, ~uint64_t{0}, 100);
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kUnusable) << "payload nowhere";
  memory.Publish(7, "\x0a");
  const ContextReading damaged = ReadContext(memory, kHeaderAt, 0);
  EXPECT_EQ(damaged.outcome, Outcome::kUnusable);
  EXPECT_EQ(damaged.published_at_ns, 7u);
  memory.pieces[kHeaderAt] = std::vector<uint8_t>(32);
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kNone) << "no header";
  memory.pieces.erase(kHeaderAt);
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kNone) << "no memory";
  memory.gone = true;
  EXPECT_EQ(ReadContext(memory, kHeaderAt, 0).outcome, Outcome::kGone);
}

// What a child does on the test's word, each answered by one byte.
enum Order : char { kPublish = 'p', kChange = 'c', kSpoil = 's', kUnmap = 'u', kMapMany = 'm' };

// As a publisher does it; the payload lies behind the header.
class Publisher {
 public:
  explicit Publisher(bool anonymous) : anonymous_(anonymous) {}
  bool Publish(const std::string& payload) {
    if (map_ == nullptr && !Map()) return false;
    Store(0, payload);
    __atomic_store_n(Word(16), ++version_, __ATOMIC_SEQ_CST);
    return true;
  }
  bool Do(char order) {
    switch (order) {
      case kPublish: return Publish(Named("first"));
      case kChange:
        return Publish(
            Context(Attribute("service.name", "second") + Attribute("service.version", "2")));
      case kSpoil: return Publish("\x0a");
      case kUnmap: return munmap(map_, kBytes) == 0 && (map_ = nullptr) == nullptr;
      case kMapMany: return MapMany();
    }
    return false;
  }

 private:
  static constexpr size_t kBytes = 8192;
  uint64_t* Word(size_t offset) { return reinterpret_cast<uint64_t*>(map_ + offset); }

  bool Map() {
    const int fd = anonymous_ ? -1 : memfd_create("OTEL_CTX", MFD_CLOEXEC);
    if (!anonymous_ && ftruncate(fd, kBytes) != 0) return false;
    void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                          anonymous_ ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return false;
    map_ = static_cast<char*>(at);
    if (fd >= 0) close(fd);
    const int named = prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, kBytes, "OTEL_CTX");
    return !anonymous_ || named == 0;
  }
  void Store(uint64_t published_at_ns, const std::string& payload) {
    __atomic_store_n(Word(16), published_at_ns, __ATOMIC_SEQ_CST);
    const auto address = reinterpret_cast<uint64_t>(map_ + 64);
    const std::vector<uint8_t> header =
        ContextHeaderBytes(published_at_ns, address, static_cast<uint32_t>(payload.size()));
    std::memcpy(map_ + 64, payload.data(), payload.size());
    std::memcpy(map_, header.data(), header.size());
  }
  // Below all that is there: each its own mapping.
  static bool MapMany() {
    for (int i = 0; i < 20'000; ++i)
      if (mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
               0) == MAP_FAILED)
        return false;
    return true;
  }

  const bool anonymous_;
  char* map_ = nullptr;
  uint64_t version_ = 0;
};

class ContextOfProcess : public testing::Test {
 protected:
  void Start(bool anonymous = false) {
    ASSERT_EQ(pipe(orders_), 0);
    ASSERT_EQ(pipe(answers_), 0);
    pid_ = fork();
    if (pid_ == 0) Serve(anonymous);
    id_ = {.pid = static_cast<uint32_t>(pid_),
           .exec_id = 1,
           .start_time_ns = StartTimeOf(static_cast<uint32_t>(pid_))};
    now_ns_ = id_.start_time_ns;
  }
  [[noreturn]] void Serve(bool anonymous) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Publisher publisher(anonymous);
    char order = 0;
    while (read(orders_[0], &order, 1) == 1) {
      const char answer = publisher.Do(order) ? 'y' : 'n';
      if (write(answers_[1], &answer, 1) != 1) break;
    }
    _exit(0);
  }
  bool Tell(Order order) {
    const char byte = order;
    char answer = 0;
    return write(orders_[1], &byte, 1) == 1 && read(answers_[0], &answer, 1) == 1 && answer == 'y';
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void TearDown() override {
    Kill();
    for (const int fd : {orders_[0], orders_[1], answers_[0], answers_[1]})
      if (fd >= 0) close(fd);
  }
  // After so many more seconds; the service's name, "-" where there is no context.
  std::string After(uint64_t seconds) {
    now_ns_ += seconds * kSecond;
    reader_.Follow(id_, id_.start_time_ns, now_ns_, watch_);
    return watch_.context == nullptr ? "-" : watch_.context->service_name;
  }

  int orders_[2] = {-1, -1}, answers_[2] = {-1, -1};
  pid_t pid_ = 0;
  ProcessId id_;
  uint64_t now_ns_ = 0;
  ContextReader reader_;
  ContextWatch watch_;
};

TEST_F(ContextOfProcess, ItsContextIsFoundAndFollowed) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  EXPECT_EQ(After(1), "first");
  EXPECT_EQ(reader_.looks(), 1u);
  ASSERT_TRUE(Tell(kChange));
  EXPECT_EQ(After(0), "second");  // The next time that anybody asks.
  EXPECT_EQ(watch_.context->attributes.size(), 1u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(After(300), "second");
  EXPECT_EQ(reader_.looks(), 1u);  // At its mappings: never again.
}

TEST_F(ContextOfProcess, ANamedAnonymousMappingIsFoundToo) {
  Start(true);
  if (!Tell(kPublish))
    GTEST_SKIP() << "this kernel names no anonymous mappings (CONFIG_ANON_VMA_NAME)";
  EXPECT_EQ(After(1), "first");
}

TEST_F(ContextOfProcess, IsLeftAloneInItsFirstSecond) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  now_ns_ += kSecond - 1;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(After(0), "-");
  EXPECT_EQ(reader_.looks(), 0u);
}

// Each second, then whenever it is an eighth older, and every 256 s in the end.
TEST_F(ContextOfProcess, WithoutAContextItIsAskedLessAndLess) {
  Start();
  std::vector<uint64_t> looked_at_s;
  for (uint64_t second = 1; second <= 5000; ++second) {
    const uint64_t looks = reader_.looks();
    EXPECT_EQ(After(1), "-");
    if (reader_.looks() != looks) looked_at_s.push_back(second);
  }
  for (size_t i = 1; i < looked_at_s.size(); ++i) {
    const uint64_t at = looked_at_s[i - 1];
    EXPECT_EQ(looked_at_s[i] - at, std::clamp<uint64_t>((at + 7) / 8, 1, 256)) << at;
  }
  EXPECT_EQ(looked_at_s.front(), 1u);
  EXPECT_LT(looked_at_s.size(), 80u);
  ASSERT_TRUE(Tell(kPublish));
  EXPECT_EQ(After(256), "first");
}

TEST_F(ContextOfProcess, ItsEndLeavesWhatWasKnown) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  EXPECT_EQ(After(1), "first");
  Kill();
  EXPECT_EQ(After(1), "first");
  EXPECT_EQ(After(1000), "first");
}

TEST_F(ContextOfProcess, AnotherOneUnderItsPidIsNotBelieved) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  id_.start_time_ns -= 5 * kSecond;
  EXPECT_EQ(After(10), "-");
}

TEST_F(ContextOfProcess, WhatBecomesUnusableCountsNoLonger) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  EXPECT_EQ(After(1), "first");
  ASSERT_TRUE(Tell(kSpoil));
  EXPECT_EQ(After(1), "-");
  ASSERT_TRUE(Tell(kChange));
  EXPECT_EQ(After(1), "second");
  EXPECT_EQ(reader_.looks(), 1u);
}

// An SDK that maps anew for each change.
TEST_F(ContextOfProcess, AMappingThatMovedIsFoundAgain) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  EXPECT_EQ(After(1), "first");
  ASSERT_TRUE(Tell(kUnmap));
  EXPECT_EQ(After(1), "first");  // What was said last.
  ASSERT_TRUE(Tell(kChange));
  EXPECT_EQ(After(5), "second");
}

TEST_F(ContextOfProcess, TooManyMappingsAreNotReadToTheEndNorSoonAgain) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  if (!Tell(kMapMany)) GTEST_SKIP() << "vm.max_map_count is too low for 20,000 mappings";
  // They lie below the context, and come first.
  EXPECT_EQ(After(1), "-");
  EXPECT_EQ(reader_.looks(), 1u);
  EXPECT_LE(reader_.text_bytes(), (512u << 10) + (16u << 10));
  EXPECT_EQ(After(255), "-");
  EXPECT_EQ(reader_.looks(), 1u);
  EXPECT_EQ(After(1), "-");
  EXPECT_EQ(reader_.looks(), 2u);
}

// However many ask, and however often: 4 MiB at once, then 512 KiB a second.
TEST_F(ContextOfProcess, AllTogetherReadSoMuchASecond) {
  constexpr int kAsks = 4000;
  Start();
  now_ns_ += kSecond;
  const auto ask_all = [&] {
    for (int i = 0; i < kAsks; ++i) {
      ContextWatch watch;
      reader_.Follow(id_, id_.start_time_ns, now_ns_, watch);
    }
    return reader_.text_bytes();
  };
  const uint64_t at_once = ask_all();
  ASSERT_GT(reader_.looks(), 0u);
  const uint64_t one = at_once / reader_.looks();
  if (one * kAsks < (5u << 20))
    GTEST_SKIP() << "this program has only " << one << " bytes of mappings";
  EXPECT_GE(at_once, 4u << 20);
  EXPECT_LE(at_once, (4u << 20) + one);
  EXPECT_EQ(ask_all(), at_once);
  now_ns_ += kSecond;
  const uint64_t next = ask_all() - at_once;
  EXPECT_GE(next, (512u << 10) - one);
  EXPECT_LE(next, (512u << 10) + one);
}

TEST_F(ContextOfProcess, LaterLooksLeaveHalfOfThatForFirstOnes) {
  Start();
  EXPECT_EQ(After(1), "-");
  const uint64_t one = reader_.text_bytes();
  const auto ask_others = [&](uint64_t bytes) {
    for (const uint64_t until = reader_.text_bytes() + bytes; reader_.text_bytes() < until;) {
      ContextWatch other;
      reader_.Follow(id_, id_.start_time_ns, now_ns_, other);
    }
  };
  ask_others(3u << 20);
  const uint64_t looks = reader_.looks();
  EXPECT_EQ(After(1), "-");
  EXPECT_EQ(reader_.looks(), looks);
  ask_others(one);
  EXPECT_GT(reader_.looks(), looks);
}

TEST_F(ContextOfProcess, ContextsHaveABudget) {
  Start();
  ASSERT_TRUE(Tell(kPublish));
  std::vector<ContextWatch> watches(100);
  for (ContextWatch& watch : watches) {
    now_ns_ += 10 * kSecond;
    reader_.Follow(id_, id_.start_time_ns, now_ns_, watch);
    ASSERT_NE(watch.context, nullptr);
  }
  const size_t held = reader_.held_bytes();
  EXPECT_GE(held, 100 * sizeof(ProcessContext));
  watches.resize(50);
  EXPECT_EQ(reader_.held_bytes(), held / 2);
  watches.clear();
  EXPECT_EQ(reader_.held_bytes(), 0u);
}

}  // namespace
}  // namespace stackray::test
