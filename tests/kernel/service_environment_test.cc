#include "kernel/service_environment.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace stackray {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

// '|' stands for the NUL between variables.
ServiceEnvironment Parse(std::string text) {
  for (char& c : text)
    if (c == '|') c = '\0';
  return ParseServiceEnvironment(text);
}

struct EnvironmentCase {
  const char* text;
  const char* service;
  Attributes attributes;
};

TEST(ParseServiceEnvironment, Values) {
  const EnvironmentCase kCases[] = {
      {"", "", {}},
      {"PATH=/bin|OTEL_SERVICE_NAME=shop|HOME=/|", "shop", {}},
      {"OTEL_SERVICE_NAME=shop", "shop", {}},  // Cut before its NUL.
      {"XOTEL_SERVICE_NAME=no|OTEL_SERVICE_NAMES=no|", "", {}},
      {"OTEL_RESOURCE_ATTRIBUTES=service.name=a,service.version=2|",
       "a",
       {{"service.version", "2"}}},
      {"OTEL_RESOURCE_ATTRIBUTES=service.name=a|OTEL_SERVICE_NAME=b|", "b", {}},
      {"OTEL_SERVICE_NAME=b|OTEL_RESOURCE_ATTRIBUTES=service.name=a|", "b", {}},
      {"OTEL_SERVICE_NAME=|OTEL_RESOURCE_ATTRIBUTES=service.name=a|", "a", {}},
      {"OTEL_RESOURCE_ATTRIBUTES= k = v , l=%41%2C%3d,|", "", {{"k", "v"}, {"l", "A,="}}},
      {"OTEL_RESOURCE_ATTRIBUTES=k=a=b|", "", {{"k", "a=b"}}},
      {"OTEL_RESOURCE_ATTRIBUTES=k=|", "", {{"k", ""}}},
      {"OTEL_RESOURCE_ATTRIBUTES=k=%00x|", "", {{"k", std::string("\0x", 2)}}},
      // A mistake, and the whole list is left out; the other variable stays.
      {"OTEL_RESOURCE_ATTRIBUTES=a=1,b|OTEL_SERVICE_NAME=s|", "s", {}},
      {"OTEL_RESOURCE_ATTRIBUTES=a=1,=2|", "", {}},
      {"OTEL_RESOURCE_ATTRIBUTES=service.name=n,a=%4|", "", {}},
      {"OTEL_RESOURCE_ATTRIBUTES=a=%zz|", "", {}},
      {"OTEL_RESOURCE_ATTRIBUTES=a=%-1|", "", {}},
      {"OTEL_RESOURCE_ATTRIBUTES=a=%|", "", {}},
  };
  for (const EnvironmentCase& c : kCases) {
    const ServiceEnvironment environment = Parse(c.text);
    EXPECT_EQ(environment.service_name, c.service) << c.text;
    EXPECT_EQ(environment.attributes, c.attributes) << c.text;
  }
}

TEST(ParseServiceEnvironment, IsBounded) {
  std::string many = "OTEL_RESOURCE_ATTRIBUTES=";
  for (int i = 0; i < 500; ++i) many += std::to_string(i) + "=x,";
  EXPECT_EQ(Parse(many).attributes.size(), 64u);
  EXPECT_EQ(Parse("OTEL_SERVICE_NAME=" + std::string(5000, 'n')).service_name, "");
}

uint64_t StartTimeOf(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  unsigned long long ticks = 0;
  const size_t close = text.rfind(')');
  if (close != std::string::npos)
    sscanf(text.c_str() + close + 2,
           "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
           &ticks);
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

class OtherProcess : public testing::Test {
 protected:
  // With `environment`, waiting; it has reached its own code when it sleeps.
  void Start(std::vector<const char*> environment) {
    environment.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      execle("/bin/sleep", "sleep", "1000", nullptr, environment.data());
      _exit(1);
    }
    const std::string path = "/proc/" + std::to_string(pid_) + "/stat";
    for (std::string stat; stat.find("(sleep) S") == std::string::npos;)
      std::getline(std::ifstream(path), stat);
    id_ = {.pid = static_cast<uint32_t>(pid_), .start_time_ns = StartTimeOf(pid_)};
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid_ = 0;
  ProcessId id_;
};

TEST_F(OtherProcess, ItsEnvironmentIsRead) {
  const std::string filler = "FILLER=" + std::string(20'000, 'f');
  Start({filler.c_str(), "OTEL_SERVICE_NAME=far"});
  const absl::StatusOr<ServiceEnvironment> environment = ReadServiceEnvironment(id_);
  ASSERT_TRUE(environment.ok()) << environment.status();
  EXPECT_EQ(environment->service_name, "far");
}

// Asked at once and all the time: it is not known yet, or known in full, and never empty. A fork
// shows its parent's environment until it execs.
TEST_F(OtherProcess, ItsEnvironmentIsNeverEmptyInTheMidstOfExec) {
  const std::string filler = "FILLER=" + std::string(100'000, 'f');
  const char* const variables[] = {filler.c_str(), "OTEL_SERVICE_NAME=far", nullptr};
  for (int i = 0; i < 100; ++i) {
    int asked[2];
    ASSERT_EQ(pipe(asked), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      char c;
      (void)!read(asked[0], &c, 1);
      execle("/bin/sleep", "sleep", "1000", nullptr, variables);
      _exit(1);
    }
    const ProcessId id{.pid = static_cast<uint32_t>(pid), .start_time_ns = StartTimeOf(pid)};
    (void)!write(asked[1], "x", 1);
    absl::StatusOr<ServiceEnvironment> read = ReadServiceEnvironment(id);
    for (int times = 0; times < 1'000'000 && (!read.ok() || read->service_name != "far"); ++times) {
      std::string comm;
      std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), comm);
      const bool renamed = comm == "sleep";
      read = ReadServiceEnvironment(id);
      if (!renamed) continue;
      if (read.ok())
        EXPECT_EQ(read->service_name, "far") << i;
      else
        EXPECT_EQ(read.status().code(), absl::StatusCode::kUnavailable) << read.status();
    }
    EXPECT_TRUE(read.ok() && read->service_name == "far") << read.status();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(asked[0]);
    close(asked[1]);
  }
}

TEST_F(OtherProcess, AnEmptyEnvironmentIsOne) {
  Start({});
  EXPECT_TRUE(ReadServiceEnvironment(id_).ok());
}

TEST_F(OtherProcess, AnotherOneUnderThePidIsNotBelieved) {
  Start({"OTEL_SERVICE_NAME=far"});
  id_.start_time_ns += 1'000'000'000;
  EXPECT_EQ(ReadServiceEnvironment(id_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(OtherProcess, AZombieHasNone) {
  Start({"OTEL_SERVICE_NAME=far"});
  kill(pid_, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(ReadServiceEnvironment(id_).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace stackray
