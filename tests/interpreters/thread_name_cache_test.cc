// Names of threads, of a runtime that only counts how often it is asked.
#include "interpreters/thread_name_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "interpreters/runtime.h"

namespace stackray {
namespace {

class NoMemory : public ProcessMemory {
 public:
  bool Read(uint64_t, std::span<uint8_t>) override { return false; }
  bool IsGone() const override { return true; }
};

struct Runtime {
  std::map<uint32_t, std::string> names;  // By the thread's own number, as they are now.
  int lists = 0, looks = 0;
};

class FakeNames : public ThreadNames {
 public:
  explicit FakeNames(Runtime& runtime) : runtime_(runtime) {}
  std::optional<std::string> NameOf(ProcessMemory&, uint32_t tid, std::string_view) override {
    ++runtime_.looks;
    const auto found = listed_.find(tid);
    return found == listed_.end() ? std::nullopt : std::optional(runtime_.names[tid]);
  }
  void List(ProcessMemory&) override {
    ++runtime_.lists;
    listed_ = runtime_.names;
  }

 private:
  Runtime& runtime_;
  std::map<uint32_t, std::string> listed_;
};

class FakeInstance : public StackInstance {
 public:
  explicit FakeInstance(Runtime& runtime) : runtime_(runtime) {}
  stack_process ForBpf() const override { return {}; }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(ProcessMemory&,
                                                              const RuntimePlace&) const override {
    return absl::UnimplementedError("it has no code");
  }
  std::unique_ptr<ThreadNames> NamesOfThreads() const override {
    return std::make_unique<FakeNames>(runtime_);
  }

 private:
  Runtime& runtime_;
};

class ThreadNameCacheTest : public testing::Test {
 protected:
  std::string NameOf(uint32_t tid, std::string_view command) {
    return std::string(cache_.NameOf(process_, tid, command, instance_, now_));
  }

  // Threads are 100 less in their own namespace.
  ThreadNameCache cache_{[](uint32_t) { return std::make_unique<NoMemory>(); },
                         [](uint32_t tid) { return tid - 100; }};
  Runtime runtime_{.names = {{7, "http-nio-8080-exec-1"}}};
  ProcessId process_{.pid = 107, .start_time_ns = 1};
  std::shared_ptr<const StackInstance> instance_ = std::make_shared<FakeInstance>(runtime_);
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
};

TEST_F(ThreadNameCacheTest, AsksOnceInANamesLife) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(NameOf(107, "http-nio-8080-e"), "http-nio-8080-exec-1");
  EXPECT_EQ(runtime_.lists, 1);
  EXPECT_EQ(runtime_.looks, 2);  // Before the list, and after it.
  runtime_.names[7] = "drained-http-nio-8080-exec-1";
  now_ += ThreadNameCache::kNameLife;
  EXPECT_EQ(NameOf(107, "http-nio-8080-e"), "drained-http-nio-8080-exec-1");
  EXPECT_EQ(runtime_.lists, 1);
}

TEST_F(ThreadNameCacheTest, AThreadThatTheRuntimeDoesNotKnowHasTheKernelsName) {
  EXPECT_EQ(NameOf(109, "GC Thread#0"), "GC Thread#0");
  EXPECT_EQ(runtime_.lists, 1);
  now_ += ThreadNameCache::kLeastBetweenLists;
  EXPECT_EQ(NameOf(109, "GC Thread#0"), "GC Thread#0");
  EXPECT_EQ(runtime_.lists, 1);  // Not before kUnknownLife.
  runtime_.names[9] = "a thread that began since";
  now_ += ThreadNameCache::kUnknownLife;
  EXPECT_EQ(NameOf(109, "GC Thread#0"), "a thread that began since");
  EXPECT_EQ(runtime_.lists, 2);
}

TEST_F(ThreadNameCacheTest, AnotherCommandIsAnotherThread) {
  EXPECT_EQ(NameOf(107, "http-nio-8080-e"), "http-nio-8080-exec-1");
  runtime_.names[7] = "a new thread with the old number";
  EXPECT_EQ(NameOf(107, "a new thread wi"), "a new thread with the old number");
}

// As in a dump, which meets its process anew while it goes on.
TEST_F(ThreadNameCacheTest, AnInstanceThatIsReadAnewIsListedAtOnce) {
  runtime_.names[8] = "http-nio-8080-exec-2";
  EXPECT_EQ(NameOf(107, "http-nio-8080-e"), "http-nio-8080-exec-1");
  instance_ = std::make_shared<FakeInstance>(runtime_);
  EXPECT_EQ(NameOf(108, "http-nio-8080-e"), "http-nio-8080-exec-2");
  EXPECT_EQ(NameOf(107, "http-nio-8080-e"), "http-nio-8080-exec-1");
  EXPECT_EQ(runtime_.lists, 2);
  EXPECT_EQ(cache_.size(), 2u);
}

TEST_F(ThreadNameCacheTest, OfManyNamesSomeAreForgotten) {
  for (uint32_t i = 0; i < 2 * ThreadNameCache::kMostNames; ++i) {
    process_.start_time_ns = i / 1000;
    NameOf(100 + i % 1000, "worker");
  }
  EXPECT_LE(cache_.size(), ThreadNameCache::kMostNames + 1);
}

TEST_F(ThreadNameCacheTest, ARuntimeWithoutNamesLeavesTheKernels) {
  class Nameless : public FakeInstance {
   public:
    using FakeInstance::FakeInstance;
    std::unique_ptr<ThreadNames> NamesOfThreads() const override { return nullptr; }
  };
  instance_ = std::make_shared<Nameless>(runtime_);
  EXPECT_EQ(NameOf(107, "http-nio-8080-e"), "http-nio-8080-e");
  EXPECT_EQ(cache_.size(), 0u);
}

}  // namespace
}  // namespace stackray
