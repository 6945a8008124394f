#include "agent/sampling/process_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/agent/sampling/context_bytes.h"
#include "tests/agent/sampling/record_bytes.h"
#include "tests/agent/sampling/sampled_world.h"

namespace stackray::test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Above the kernel's largest pid, so that /proc knows nothing of it.
ProcessId Id(uint32_t number, uint32_t exec_id = 1) {
  return {.pid = 5'000'000 + number, .exec_id = exec_id, .start_time_ns = 9};
}
process_key KeyOf(const ProcessId& id) {
  return {.pid = id.pid, .exec_id = id.exec_id, .start_time_ns = id.start_time_ns};
}

// A table that gets records as a ring has them, at a time that the test sets.
class ProcessTableTest : public testing::Test {
 protected:
  void Take(const ProcessId& id, const EventParts& parts) {
    const RecordBytes bytes = MakeEvent(parts, KeyOf(id), time_ns_);
    const absl::StatusOr<Record> record = DecodeRecord(bytes.bytes());
    ASSERT_TRUE(record.ok()) << record.status();
    table_.Advance(time_ns_);
    table_.Take(std::get<ProcessEvent>(*record));
  }
  void Exec(const ProcessId& id, const std::string& path, const std::string& cgroup = "/") {
    Take(id, {.type = RECORD_EXEC, .path = path, .cgroup = cgroup});
  }
  void Existing(const ProcessId& id, const std::string& path) {
    Take(id, {.type = RECORD_EXISTING, .path = path, .cgroup = "/"});
  }
  void Fork(const ProcessId& parent, const ProcessId& child) {
    Take(child, {.type = RECORD_FORK, .flags = PROCESS_SAME_CGROUP, .parent = KeyOf(parent)});
  }
  void Exit(const ProcessId& id) { Take(id, {.type = RECORD_EXIT}); }
  void Wait(uint64_t ns) {
    time_ns_ += ns;
    table_.Advance(time_ns_);
  }
  std::string PathOf(const ProcessId& id) { return table_.Describe(id, "name", 0).executable_path; }

  uint64_t time_ns_ = 100 * kSecond;
  ProcessTable table_{100};
};

TEST_F(ProcessTableTest, NeverGrowsOverItsBound) {
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(table_.Describe(Id(i), "name", 0).pid, Id(i).pid);
    Fork(Id(i), Id(1000 + i));
    Exec(Id(1000 + i, 2), "/bin/x", "/c" + std::to_string(i));
    EXPECT_LE(table_.size(), 100u);
    EXPECT_LE(table_.cgroups(), 250u);
  }
}

TEST_F(ProcessTableTest, WhatComesAndGoesLeavesNothing) {
  for (uint32_t i = 0; i < 10'000; ++i) {
    Fork(Id(0), Id(1 + i));
    Exec(Id(1 + i, 2), "/bin/x", "/c" + std::to_string(i));
    Exit(Id(1 + i, 2));
    Wait(100'000'000);
    EXPECT_LE(table_.size(), 24u);
  }
  Wait(2 * kSecond);
  EXPECT_EQ(table_.size(), 1u);  // The parent.
  EXPECT_LE(table_.cgroups(), 64u + 24u);
}

TEST_F(ProcessTableTest, TheLeastRecentlyUsedGoesFirst) {
  ProcessTable table(2);
  table.Describe(Id(1), "one", 0);
  table.Describe(Id(2), "two", 0);
  table.Describe(Id(1), "other", 0);
  table.Describe(Id(3), "three", 0);
  EXPECT_NE(table.FilesOf(Id(1)), nullptr);
  EXPECT_EQ(table.FilesOf(Id(2)), nullptr);
}

TEST_F(ProcessTableTest, AnExecNamesItsImageAndNoOther) {
  Exec(Id(1, 1), "/bin/sh", "/system.slice/a.service");
  Exec(Id(1, 2), "/opt/new program", "/system.slice/a.service");
  EXPECT_EQ(PathOf(Id(1, 1)), "/bin/sh");
  const ProcessInfo& info = table_.Describe(Id(1, 2), "given", 0);
  EXPECT_EQ(info.executable_path, "/opt/new program");
  EXPECT_EQ(info.command, "given");
  EXPECT_EQ(info.cgroup_path, "/system.slice/a.service");
  EXPECT_EQ(info.service_name, "a");
}

TEST_F(ProcessTableTest, AChildHasWhatItsParentHas) {
  Exec(Id(1), "/bin/sh", "/system.slice/a.service");
  Fork(Id(1), Id(2));
  Exit(Id(1));
  Wait(2 * kSecond);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(PathOf(Id(2)), "/bin/sh");
  EXPECT_EQ(table_.Describe(Id(2), "n", 0).cgroup_path, "/system.slice/a.service");
  // Its own exec does not rename the parent's other children.
  Fork(Id(2), Id(3));
  Exec(Id(3, 2), "/bin/ls");
  EXPECT_EQ(PathOf(Id(2)), "/bin/sh");
  EXPECT_EQ(PathOf(Id(3, 2)), "/bin/ls");
}

TEST_F(ProcessTableTest, AMoveChangesTheCgroupAlone) {
  Exec(Id(1), "/bin/sh", "/a");
  Take(Id(1), {.type = RECORD_MOVED, .cgroup = "/system.slice/b.service", .cgroup_v1 = "/v1"});
  EXPECT_EQ(table_.Describe(Id(1), "n", 0).cgroup_path, "/system.slice/b.service");
  EXPECT_EQ(PathOf(Id(1)), "/bin/sh");
  Take(Id(2), {.type = RECORD_MOVED, .cgroup = "/b"});  // Unknown: asked for when it is sampled.
  EXPECT_EQ(table_.size(), 1u);
}

// A task is sampled in do_exit() too.
TEST_F(ProcessTableTest, WhatEndedStaysUntilItIsSilent) {
  Exec(Id(1), "/bin/sh");
  Exit(Id(1));
  Exit(Id(1));
  Exit(Id(2));  // Never seen.
  for (int i = 0; i < 5; ++i) {
    Wait(kSecond / 2);
    EXPECT_NE(table_.FilesOf(Id(1)), nullptr);  // As for every sample.
  }
  Wait(kSecond / 2);
  EXPECT_EQ(PathOf(Id(1)), "/bin/sh");
  Wait(2 * kSecond);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ProcessTableTest, HoldsAFileAsLongAsItsProcess) {
  auto file = std::make_shared<ExecutableFile>();
  Exec(Id(1), "/bin/sh");
  table_.FilesOf(Id(1))->push_back(file);
  Exit(Id(1));
  EXPECT_EQ(file.use_count(), 2);
  Wait(2 * kSecond);
  EXPECT_EQ(file.use_count(), 1);
}

// A file that only this descriptor leads to, or also a name.
std::shared_ptr<ExecutableFile> FileOnDisk(bool deleted, uint64_t sampled_ns) {
  std::string name = testing::TempDir() + "/process_table_XXXXXX";
  auto file = std::make_shared<ExecutableFile>();
  file->fd = UniqueFd(mkstemp(name.data()));
  file->sampled_ns = sampled_ns;
  if (deleted) unlink(name.c_str());
  return file;
}

// A process that goes on may have unloaded its libraries.
TEST_F(ProcessTableTest, ADeletedFileGoesOnceItIsNotSampled) {
  const auto deleted = FileOnDisk(true, 5 * kSecond), sampled = FileOnDisk(true, 12 * kSecond),
             there = FileOnDisk(false, 5 * kSecond);
  for (uint32_t i = 1; i <= 2; ++i) {
    Exec(Id(i), "/bin/sh");
    *table_.FilesOf(Id(i)) = {deleted, sampled, there};
  }
  table_.DropDeletedFiles(14 * kSecond);
  EXPECT_EQ(deleted.use_count(), 3) << "it was sampled less than 10 s ago";
  table_.DropDeletedFiles(16 * kSecond);
  EXPECT_EQ(deleted.use_count(), 1);
  EXPECT_EQ(sampled.use_count(), 3);
  EXPECT_EQ(there.use_count(), 3);
}

TEST_F(ProcessTableTest, AListEndsWhatItDoesNotName) {
  for (uint32_t i = 1; i <= 3; ++i) Exec(Id(i), "/bin/old");
  table_.BeginList();
  Existing(Id(2), "/bin/old");
  Existing(Id(3, 7), "/bin/new");  // Its exec was lost.
  Existing(Id(4), "/bin/born");
  table_.EndList();
  Wait(2 * kSecond);
  EXPECT_EQ(table_.size(), 3u);
  EXPECT_EQ(table_.FilesOf(Id(1)), nullptr);
  EXPECT_EQ(table_.FilesOf(Id(3)), nullptr);
  EXPECT_EQ(PathOf(Id(2)), "/bin/old");
  EXPECT_EQ(PathOf(Id(3, 7)), "/bin/new");
  EXPECT_EQ(PathOf(Id(4)), "/bin/born");
}

TEST_F(ProcessTableTest, WithoutAListProcIsAsked) {
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  Exec(self, "/bin/me");
  Exec(Id(1), "/bin/gone");
  table_.EndGone();
  Wait(2 * kSecond);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_NE(table_.FilesOf(self), nullptr);
}

// The event of a fork may be read after a list that has the child already, with what it has become.
TEST_F(ProcessTableTest, AnOldEventDoesNotUndoAList) {
  table_.BeginList();
  Existing(Id(1), "/bin/sh");
  Existing(Id(2, 1), "/bin/child");
  table_.EndList();
  Fork(Id(1), Id(2, 1));
  EXPECT_EQ(PathOf(Id(2, 1)), "/bin/child");
}

TEST_F(ProcessTableTest, AReusedPidIsAnotherProcess) {
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  ProcessId before = self;
  before.start_time_ns -= kSecond;
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  EXPECT_EQ(PathOf(self), path);
  EXPECT_EQ(PathOf(before), "");
  EXPECT_EQ(table_.Describe(before, "it", 0).command, "it");
}

TEST_F(ProcessTableTest, CreationTimeDoesNotFollowTheWallClock) {
  Exec(Id(1), "/bin/sh");
  EXPECT_EQ(table_.Describe(Id(1), "n", 1000).creation_time_unix_ns, 1009);
  EXPECT_EQ(table_.Describe(Id(1), "n", 5000).creation_time_unix_ns, 1009);
}

// This process's own context, for the length of a test.
class OwnContext {
 public:
  OwnContext() {
    const int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    void* const at = fd >= 0 && ftruncate(fd, kBytes) == 0
                         ? mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)
                         : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (at != MAP_FAILED) map_ = static_cast<uint8_t*>(at);
  }
  ~OwnContext() {
    if (map_ != nullptr) munmap(map_, kBytes);
  }
  bool Publish(uint64_t time_ns, const std::string& service) {
    if (map_ == nullptr) return false;
    payload_ = Context(Attribute("service.name", service) + Attribute("service.version", "3"));
    const std::vector<uint8_t> header =
        ContextHeaderBytes(time_ns, reinterpret_cast<uint64_t>(payload_.data()),
                           static_cast<uint32_t>(payload_.size()));
    std::memcpy(map_, header.data(), header.size());
    return true;
  }

 private:
  static constexpr size_t kBytes = 4096;
  uint8_t* map_ = nullptr;
  std::string payload_;
};

TEST_F(ProcessTableTest, AContextStandsAboveTheUnitAndOutlivesItsProcess) {
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  time_ns_ += self.start_time_ns;
  const auto service = [&] { return table_.Describe(self, "me", 0).service_name; };
  Exec(self, "/bin/me", "/system.slice/unit.service");
  OwnContext context;
  ASSERT_TRUE(context.Publish(1, "first"));
  EXPECT_EQ(service(), "unit");  // An image that young is not asked.
  Wait(kSecond);
  EXPECT_EQ(service(), "first");
  EXPECT_EQ(table_.Describe(self, "me", 0).claimed[0],
            (std::pair<std::string, AttributeValue>("service.version", "3")));
  ASSERT_TRUE(context.Publish(2, "second"));
  EXPECT_EQ(service(), "second");
  // The next image begins with nothing, and the one before is no longer read.
  ProcessId next = self;
  next.exec_id = 2;
  Exec(next, "/bin/me too", "/system.slice/unit.service");
  ASSERT_TRUE(context.Publish(3, "third"));
  EXPECT_EQ(service(), "second");
  EXPECT_EQ(table_.Describe(next, "me", 0).service_name, "unit");
}

TEST_F(ProcessTableTest, TheUserIsNamedWhereItIsKnown) {
  const auto named = [&](const ProcessId& id) {
    const ProcessInfo& info = table_.Describe(id, "me", 0);
    for (const auto& [key, value] : info.extra)
      if (key == "process.user.name") return std::get<std::string>(value);
    return std::string();
  };
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  Exec(self, "/bin/me");
  EXPECT_EQ(named(self), UserNames().OfProcess(pid));
  EXPECT_NE(named(self), "");
  // Another process had this pid.
  const ProcessId before{.pid = pid, .exec_id = 9, .start_time_ns = 1};
  Exec(before, "/bin/before");
  EXPECT_EQ(named(before), "");
}

// A leader may rename itself after the exec, as node does.
TEST_F(ProcessTableTest, AServiceWithoutANameIsCalledAsItsProgramWasAtExec) {
  Take(Id(1), {.type = RECORD_EXEC,
               .path = "/usr/bin/redis-check-rdb",
               .cgroup = "/user.slice",
               .command = "redis-server"});
  EXPECT_EQ(table_.Describe(Id(1), "MainThread", 0).service_name, "redis-server");
  Fork(Id(1), Id(2));
  EXPECT_EQ(table_.Describe(Id(2), "worker", 0).service_name, "redis-server");
  Take(Id(3), {.type = RECORD_EXISTING, .flags = PROCESS_KERNEL_THREAD, .cgroup = "/"});
  EXPECT_EQ(table_.Describe(Id(3), "kworker/3:1", 0).service_name, "kernel");
}

// This test was there before its table, so nobody saw its exec; its memory knows how it was called.
TEST_F(ProcessTableTest, AProcessThatWasThereBeforeIsCalledAsItsMemorySays) {
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  Existing(self, path);
  EXPECT_EQ(table_.Describe(self, "other", 0).service_name, path.substr(path.rfind('/') + 1));
}

TEST_F(ProcessTableTest, SourcesOfAServicesNameCanBeChosen) {
  ProcessTable table(4, {ServiceNameSource::kCommand, ServiceNameSource::kSystemd});
  const RecordBytes bytes = MakeEvent({.type = RECORD_EXEC,
                                       .path = "/bin/app",
                                       .cgroup = "/system.slice/unit.service",
                                       .command = "app"},
                                      KeyOf(Id(1)), time_ns_);
  table.Take(std::get<ProcessEvent>(*DecodeRecord(bytes.bytes())));
  EXPECT_EQ(table.Describe(Id(1), "x", 0).service_name, "app");
}

TEST_F(ProcessTableTest, NamesThatWereCutAreNotBelieved) {
  Take(Id(1),
       {.type = RECORD_EXEC, .flags = PROCESS_NAMES_CUT, .path = "/half/path", .cgroup = "/"});
  EXPECT_EQ(PathOf(Id(1)), "");
}

}  // namespace
}  // namespace stackray::test
