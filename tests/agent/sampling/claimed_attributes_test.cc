// Whatever a process says of itself, in its environment and in its memory, a batch has of it what
// the kernel and the agent know. The oracle is the same process's resource without a word of its
// own.
#include "agent/sampling/claimed_attributes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "agent/sampling/process_table.h"
#include "kernel/process_info.h"
#include "kernel/service_environment.h"
#include "reporter/batch.h"
#include "tests/agent/sampling/context_bytes.h"
#include "tests/agent/sampling/record_bytes.h"
#include "tests/agent/sampling/sampled_world.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr char kForged[] = "forged-value";

// Keys that would pass for something that the kernel or the agent knows.
const std::vector<std::string> kForgedKeys = {
    "process.pid", "process.user.name", "process.command", "process.executable.name",
    "process.creation.time", "process.linux.cgroup", "process.runtime.name", "container.id",
    "container.name", "k8s.pod.uid", "host.name", "host.id", "os.type", "thread.name",
    "stackray.process.pid_namespace", "stackray.claimed", "stackray.capture",
    // Other cases and marks, as receivers write keys anew.
    "Process.User.Name", "PROCESS.PID", "process_user_name", "process-user-name",
    "process/user/name", "process..user.name", ".process.user.name", "_process_user_name",
    "Container.Id", "K8s.Pod.Uid", "K8S.POD.NAME", "k8s_pod_name", "HOST_NAME", "cloud_region",
    "Service.Name", "service_name",
    // Percent-encoded, with spaces, with letters that look alike, with control characters.
    "process%2Euser%2Ename", "%70rocess.pid", "process .user.name", "\tprocess.pid",
    "process.user.name\x01", "\xd1\x80rocess.user.name", "process.user.n\xd0\xb0me",
    "process\xe2\x80\xa4user\xe2\x80\xa4name", "\xef\xbd\x90rocess.pid", "process.pid\xff",
    "host\xc2\xad.name", "process\xe2\x80\x8b.pid"};

TEST(ClaimedKey, OfWhatTheAgentKnows) {
  for (const std::string& key : kForgedKeys) EXPECT_EQ(ClaimedKey(key), std::nullopt) << key;
  for (const std::string& key : {std::string(), std::string("."), std::string(257, 'a'),
                                 std::string("a\0b", 3), std::string("process"), std::string("os")})
    EXPECT_EQ(ClaimedKey(key), std::nullopt) << key;
}

TEST(ClaimedKey, OfWhatOthersKnow) {
  EXPECT_EQ(ClaimedKey("k8s.pod.name"), "claimed.k8s.pod.name");
  EXPECT_EQ(ClaimedKey("k8s.namespace.name"), "claimed.k8s.namespace.name");
  EXPECT_EQ(ClaimedKey("cloud.region"), "claimed.cloud.region");
}

TEST(ClaimedKey, OfWhatIsTheProcessesToSay) {
  for (const std::string key :
       {"service.version", "service.namespace", "service.instance.id", "deployment.environment",
        "telemetry.sdk.language", "team", "processor", "hostile", "osprey.x", "claimed.process.pid",
        "cost-center/a:b", "Team_A"})
    EXPECT_EQ(ClaimedKey(key), key);
}

using Attributes = std::map<std::string, std::string>;

Attributes ResourceOf(const ProcessInfo& info) {
  BatchBuilder batch({.host_name = "host-1", .host_id = "id-1"});
  const ProcessId id{.pid = 7, .exec_id = 1, .start_time_ns = 1};
  batch.DefineProcess(id, info);
  const FrameKey key = FrameKey::Make(FrameType::kKernel, 0, 1);
  FrameSymbols symbols{.type = FrameType::kKernel};
  symbols.lines.push_back({.function = "f"});
  const std::vector<int32_t> frames = {batch.DefineFrame(key, symbols)};
  batch.AddSample({.process = id, .frames = frames, .time_unix_ns = 1'000, .count = 1});
  const auto decoded = DecodeBatch(std::move(batch).Seal(1'000, 2'000)->bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  Attributes attributes;
  for (const auto& [name, value] : decoded->resources.at(0).attributes)
    EXPECT_TRUE(attributes.emplace(name, value).second) << name << " twice";
  return attributes;
}

// Of a process: what a batch has once the table has looked at it.
Attributes Described(const ProcessId& id) {
  ProcessTable table(8);
  const uint64_t now_ns = id.start_time_ns + 100 * kSecond;
  const RecordBytes bytes =
      MakeEvent({.type = RECORD_EXEC, .path = "/bin/me", .cgroup = "/system.slice/unit.service"},
                {.pid = id.pid, .exec_id = id.exec_id, .start_time_ns = id.start_time_ns}, now_ns);
  table.Advance(id.start_time_ns);  // So that its image is old enough for a context.
  table.Take(std::get<ProcessEvent>(*DecodeRecord(bytes.bytes())));
  table.Advance(now_ns);
  return ResourceOf(table.Describe(id, "me", 5));
}

// Nothing but what a receiver can tell for the process's own word differs.
void ExpectNothingBelieved(const Attributes& said, const Attributes& silent) {
  Attributes rest = said;
  const std::string listed = said.contains("stackray.claimed") ? said.at("stackray.claimed") : "";
  rest.erase("stackray.claimed");
  for (size_t at = 0; at < listed.size();) {
    const size_t end = std::min(listed.find(' ', at), listed.size());
    EXPECT_EQ(rest.erase(listed.substr(at, end - at)), 1u);
    at = end + 1;
  }
  std::erase_if(rest, [](const auto& pair) { return pair.first.starts_with("claimed."); });
  Attributes expected = silent;
  std::erase_if(expected, [&](const auto& pair) {
    return pair.first == "stackray.claimed" || listed.find(pair.first) != std::string::npos;
  });
  EXPECT_EQ(rest, expected);
  for (const auto& [key, value] : rest) EXPECT_EQ(value.find(kForged), std::string::npos) << key;
}

class Child {
 public:
  explicit Child(const std::vector<std::string>& environment, bool is_nobody = false) {
    pid_ = fork();
    if (pid_ != 0) return;
    if (is_nobody && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(1);
    std::vector<char*> variables;
    for (const std::string& variable : environment)
      variables.push_back(const_cast<char*>(variable.c_str()));
    variables.push_back(nullptr);
    char name[] = "sleep", time[] = "1000";
    char* arguments[] = {name, time, nullptr};
    execve("/bin/sleep", arguments, variables.data());
    _exit(1);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ProcessId id() const {
    const auto pid = static_cast<uint32_t>(pid_);
    return {.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  }
  bool HasBegun() const {
    for (int i = 0; i < 1000; ++i) {
      if (ReadCommandName(static_cast<uint32_t>(pid_)) == "sleep") return true;
      usleep(10'000);
    }
    return false;
  }

 private:
  pid_t pid_;
};

// Its resource, of the two things that the kernel decides anew for each process the first's.
Attributes OfChild(const Child& child) {
  Attributes attributes = Described(child.id());
  attributes["process.pid"] = "0";
  attributes["process.creation.time"] = "0";
  return attributes;
}

TEST(ForgedIdentity, ByTheEnvironment) {
  std::string list;
  for (const std::string& key : kForgedKeys) {
    if (key.find('=') != std::string::npos) continue;
    list += key + "=" + kForged + ", " + key + " = " + kForged + ",";  // Each twice.
  }
  list += "service.version=2,k8s.pod.name=" + std::string(kForged);
  ASSERT_LE(list.size(), 4000u);
  const Child silent({}), forger({"OTEL_RESOURCE_ATTRIBUTES=" + list});
  ASSERT_TRUE(silent.HasBegun() && forger.HasBegun());
  const Attributes said = OfChild(forger);
  ExpectNothingBelieved(said, OfChild(silent));
  EXPECT_EQ(said.at("service.name"), "unit");
  EXPECT_FALSE(said.contains("k8s.pod.name"));
}

TEST(ForgedIdentity, TheListAloneIsNotEnough) {
  // At most 64 attributes count, so that each key alone is tried too, and an empty value.
  const Child silent({});
  ASSERT_TRUE(silent.HasBegun());
  const Attributes expected = OfChild(silent);
  for (const std::string& key : kForgedKeys) {
    const Child forger(
        {"OTEL_RESOURCE_ATTRIBUTES=" + key + "=" + kForged + ",other=," + key + "="});
    ASSERT_TRUE(forger.HasBegun());
    ExpectNothingBelieved(OfChild(forger), expected);
  }
}

TEST(ForgedIdentity, NobodyIsNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Child forger({"OTEL_RESOURCE_ATTRIBUTES=process.user.name=root,process_user_name=root,"
                      "container.id=c,k8s.pod.uid=u,stackray.process.pid_namespace=host"},
                     true);
  ASSERT_TRUE(forger.HasBegun());
  const Attributes said = OfChild(forger);
  const std::string user = UserNames().OfProcess(forger.id().pid);
  EXPECT_TRUE(user == "nobody" || user == "65534") << user;
  EXPECT_EQ(said.at("process.user.name"), user);
  for (const char* key : {"process_user_name", "container.id", "k8s.pod.uid",
                          "stackray.process.pid_namespace", "stackray.claimed"})
    EXPECT_FALSE(said.contains(key)) << key;
}

TEST(ForgedIdentity, AServiceOfItsOwnIsMarked) {
  const Child forger(
      {"OTEL_SERVICE_NAME=payments", "OTEL_RESOURCE_ATTRIBUTES=team=a,k8s.job.name=j"});
  ASSERT_TRUE(forger.HasBegun());
  const Attributes said = OfChild(forger);
  EXPECT_EQ(said.at("service.name"), "payments");
  EXPECT_EQ(said.at("stackray.claimed"), "service.name team");
  EXPECT_EQ(said.at("claimed.k8s.job.name"), "j");
}

TEST(ForgedIdentity, ByThePublishedContext) {
  const auto pid = static_cast<uint32_t>(getpid());
  const ProcessId self{.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)};
  const Attributes silent = Described(self);
  const int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  auto* const map =
      static_cast<uint8_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
  close(fd);
  ASSERT_NE(static_cast<void*>(map), MAP_FAILED);
  for (size_t first = 0; first < kForgedKeys.size(); first += 20) {
    std::string resource = Attribute("service.version", "3") + Attribute("k8s.pod.name", kForged);
    for (size_t i = first; i < std::min(first + 20, kForgedKeys.size()); ++i)
      resource += Attribute(kForgedKeys[i], kForged) + Attribute(kForgedKeys[i], "") +
                  Field(1, KeyValue(kForgedKeys[i], NumberValue(3, 0)));
    const std::string payload = Context(resource);
    const std::vector<uint8_t> header =
        ContextHeaderBytes(first + 1, reinterpret_cast<uint64_t>(payload.data()),
                           static_cast<uint32_t>(payload.size()));
    std::memcpy(map, header.data(), header.size());
    const Attributes said = Described(self);
    EXPECT_EQ(said.at("service.version"), "3");  // It was read.
    EXPECT_EQ(said.at("claimed.k8s.pod.name"), kForged);
    ExpectNothingBelieved(said, silent);
  }
  munmap(map, 4096);
}

}  // namespace
}  // namespace stackray::test
