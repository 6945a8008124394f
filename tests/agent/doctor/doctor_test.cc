#include "agent/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>

#include "agent/doctor/port_owner.h"
#include "tests/agent/doctor/fake_host.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;

std::optional<Finding> Find(const Findings& findings, const std::string& id) {
  const auto found = std::ranges::find(findings, id, &Finding::id);
  if (found == findings.end()) return std::nullopt;
  return *found;
}

TEST(Doctor, FindsNothingMissingOnAHostThatLacksNothing) {
  const Findings findings = Examine(FakeHost());
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, FindingLevel::kGood) << finding.id << ": " << finding.what;
  }
  EXPECT_TRUE(SamplingPossible(findings));
  EXPECT_GE(findings.size(), 15u);
}

// One thing taken away, and what the doctor must make of it.
struct Lack {
  const char* name;
  std::function<void(FakeHost&)> take;
  const char* id;
  FindingLevel level;
  const char* fix;  // Part of the advice.
};

void PrintTo(const Lack& lack, std::ostream* out) { *out << lack.name; }

class DoctorLack : public testing::TestWithParam<Lack> {};

TEST_P(DoctorLack, IsNamedWithItsCostAndItsFix) {
  FakeHost host;
  GetParam().take(host);
  const Findings findings = Examine(host);
  const std::optional<Finding> finding = Find(findings, GetParam().id);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->level, GetParam().level) << finding->what;
  EXPECT_FALSE(finding->cost.empty());
  EXPECT_THAT(finding->fix, HasSubstr(GetParam().fix));
  EXPECT_EQ(SamplingPossible(findings), GetParam().level != FindingLevel::kBlocking);
  for (const Finding& other : findings) {
    if (other.id == finding->id) continue;
    EXPECT_EQ(other.level, FindingLevel::kGood) << other.id << ": " << other.what;
  }
}

constexpr FindingLevel kWarns = FindingLevel::kWarning;
constexpr FindingLevel kBlocks = FindingLevel::kBlocking;

const Lack kPrivileges[] = {
    {"NoBpfCapability",
     [](FakeHost& h) {
       h.DropCapabilities({21, 39});
     },
     "capability.bpf", kBlocks, "root"},
    {"NoPerfmonCapability",
     [](FakeHost& h) {
       h.DropCapabilities({21, 38});
     },
     "capability.perfmon", kBlocks, "CAP_PERFMON"},
    {"NoPtraceCapability", [](FakeHost& h) { h.DropCapabilities({19}); }, "capability.sys_ptrace",
     kWarns, "CAP_SYS_PTRACE"},
    {"NoCheckpointRestoreCapability",
     [](FakeHost& h) {
       h.DropCapabilities({21, 40});
     },
     "capability.checkpoint_restore", kWarns, "CAP_CHECKPOINT_RESTORE"},
    {"NoReadCapability", [](FakeHost& h) { h.DropCapabilities({2}); }, "capability.dac_read_search",
     kWarns, "CAP_DAC_READ_SEARCH"},
    {"NoPriority", [](FakeHost& h) { h.DropCapabilities({23}); }, "priority", kWarns, "LimitNICE"},
    {"UserNamespace", [](FakeHost& h) { h.files["/proc/self/uid_map"] = "0 1000 1\n"; },
     "user_namespace", kBlocks, "rootless"},
    {"PidNamespace", [](FakeHost& h) { h.links["/proc/self/ns/pid"] = "pid:[4026532190]"; },
     "pid_namespace", kWarns, "hostPID"},
    {"NoProc", [](FakeHost& h) { h.links.clear(); }, "pid_namespace", kWarns, "/proc"},
    {"ConfidentialLockdown",
     [](FakeHost& h) {
       h.files["/sys/kernel/security/lockdown"] = "none integrity [confidentiality]\n";
     },
     "lockdown", kBlocks, "lockdown="},
    {"NobodyMayTrace", [](FakeHost& h) { h.files["/proc/sys/kernel/yama/ptrace_scope"] = "3\n"; },
     "ptrace_scope", kWarns, "sysctl.d"},
    {"ProcSubset",
     [](FakeHost& h) { h.files["/proc/self/mounts"] = "proc /proc proc rw,subset=pid 0 0\n"; },
     "proc_subset", kWarns, "full proc"},
};

const Lack kSampling[] = {
    {"KernelTooOld",
     [](FakeHost& h) {
       h.release = "5.4.0-150-generic";
       h.build = "";
     },
     "kernel", kBlocks, "5.10"},
    {"KernelThatHangs",
     [](FakeHost& h) {
       h.release = "6.2.16";
       h.build = "";
     },
     "kernel", kBlocks, "update"},
    {"KernelUnknown", [](FakeHost& h) { h.release = "mainline"; }, "kernel", kWarns, "5.10"},
    {"OtherMachine", [](FakeHost& h) { h.machine = "riscv64"; }, "machine", kBlocks, "x86_64"},
    {"NoBtf", [](FakeHost& h) { h.files.erase("/sys/kernel/btf/vmlinux"); }, "btf", kBlocks,
     "CONFIG_DEBUG_INFO_BTF"},
    {"LoadForbidden",
     [](FakeHost& h) {
       h.load = {EPERM, ""};
     },
     "bpf_load", kBlocks, "seccomp"},
    {"NoBpfInKernel",
     [](FakeHost& h) {
       h.load = {ENOSYS, ""};
     },
     "bpf_load", kBlocks, "CONFIG_BPF_SYSCALL"},
    {"NoRingBuffer",
     [](FakeHost& h) {
       h.ring_buffer = {EINVAL, ""};
     },
     "ring_buffer", kBlocks, "CONFIG_BPF"},
    {"NoMemory",
     [](FakeHost& h) {
       h.ring_buffer = {ENOMEM, ""};
     },
     "ring_buffer", kBlocks, "memory limit"},
    {"NoAttach",
     [](FakeHost& h) {
       h.attach = {EACCES, ""};
     },
     "bpf_attach", kBlocks, "root"},
    {"NoProcessEvents",
     [](FakeHost& h) {
       h.process_events = {ESRCH, ""};
     },
     "process_events", kBlocks, "tracepoints"},
    {"NoCpuClock",
     [](FakeHost& h) {
       h.cpu_clock = {EACCES, ""};
     },
     "cpu_clock", kBlocks, "root"},
    {"RateLimited",
     [](FakeHost& h) { h.files["/proc/sys/kernel/perf_event_max_sample_rate"] = "50\n"; },
     "sample_rate", kWarns, "sysctl"},
};

const Lack kSurroundings[] = {
    {"HiddenKernelSymbols",
     [](FakeHost& h) {
       h.files["/proc/kallsyms"] = "0000000000000000 T _text\n0000000000000000 T _stext\n";
       h.files["/proc/sys/kernel/kptr_restrict"] = "2\n";
     },
     "kernel_symbols", kWarns, "kptr_restrict=1"},
    {"NoKernelSymbols", [](FakeHost& h) { h.files.erase("/proc/kallsyms"); }, "kernel_symbols",
     kWarns, "CONFIG_KALLSYMS"},
    {"NoControlGroups", [](FakeHost& h) { h.files.erase("/sys/fs/cgroup/cgroup.controllers"); },
     "cgroup", kWarns, "mount"},
    {"NoUprobes", [](FakeHost& h) { h.files.erase("/sys/bus/event_source/devices/uprobe/type"); },
     "uprobes", kWarns, "CONFIG_UPROBE"},
    {"ReadOnlyState",
     [](FakeHost& h) {
       h.write = {EROFS, ""};
     },
     "state_directory", kWarns, "--state-dir"},
    {"PortTaken",
     [](FakeHost& h) {
       h.listen = {EADDRINUSE, ""};
     },
     "page_port", kWarns, "--listen"},
    {"NoLoopback",
     [](FakeHost& h) {
       h.listen = {EADDRNOTAVAIL, ""};
     },
     "page_port", kWarns, "link set lo up"},
};

const auto kNameOfLack = [](const auto& param_info) { return param_info.param.name; };
INSTANTIATE_TEST_SUITE_P(Privileges, DoctorLack, testing::ValuesIn(kPrivileges), kNameOfLack);
INSTANTIATE_TEST_SUITE_P(Sampling, DoctorLack, testing::ValuesIn(kSampling), kNameOfLack);
INSTANTIATE_TEST_SUITE_P(Surroundings, DoctorLack, testing::ValuesIn(kSurroundings), kNameOfLack);

TEST(Doctor, AnAdministratorNeedsNoneOfTheSmallerCapabilities) {
  FakeHost host;
  host.DropCapabilities({34, 38, 39, 40});
  EXPECT_EQ(Find(Examine(host), "capabilities")->level, FindingLevel::kGood);
}

TEST(Doctor, HiddenProcessesMatterOnlyWithoutTheTraceCapability) {
  FakeHost host;
  host.files["/proc/self/mounts"] = "proc /proc proc rw,hidepid=invisible 0 0\n";
  EXPECT_EQ(Find(Examine(host), "hidepid")->level, FindingLevel::kGood);
  host.DropCapabilities({19});
  EXPECT_EQ(Find(Examine(host), "hidepid")->level, FindingLevel::kWarning);
  host.files["/proc/self/mounts"] = "tmpfs /proc/x tmpfs rw,hidepid=2 0 0\n";
  EXPECT_FALSE(Find(Examine(host), "hidepid").has_value());
}

TEST(Doctor, TheLimitOfLockedMemoryCountsOnTheOldestKernels) {
  FakeHost host;
  const auto says = [&](const char* text) {
    return Find(Examine(host), "memlock")->what.find(text) != std::string::npos;
  };
  EXPECT_TRUE(says("does not matter"));
  host.release = "5.10.0-32-cloud-amd64";
  host.build = "#1 SMP Debian 5.10.223-1 (2024-08-10)";
  EXPECT_TRUE(says("count against it"));
}

TEST(Doctor, OneFailingLoadIsOneFinding) {
  FakeHost host;
  host.load = host.attach = host.ring_buffer = host.process_events = {EPERM, ""};
  const Findings findings = Examine(host);
  EXPECT_EQ(std::ranges::count(findings, FindingLevel::kBlocking, &Finding::level), 1);
}

TEST(Doctor, TheVerifiersLogIsKept) {
  FakeHost host;
  host.load = {EINVAL, "0: (b7) r0 = 0\nunknown opcode b7\n"};
  EXPECT_THAT(Find(Examine(host), "bpf_load")->detail, HasSubstr("unknown opcode"));
}

// Nothing uses hardware counters, and an agent that runs has its port.
TEST(Doctor, AHealthyHostLacksNothing) {
  FakeHost host;
  host.hardware_cycles = {ENOENT, ""};
  host.listen = {EADDRINUSE, ""};
  host.port_owner = "stackray (process 12)";
  for (const Finding& finding : Examine(host))
    EXPECT_EQ(finding.level, FindingLevel::kGood) << finding.what;
  host.port_owner = "stackray (process 12, user nobody)";  // So it calls itself.
  EXPECT_EQ(Find(Examine(host), "page_port")->level, FindingLevel::kWarning);
  host.port_owner = "nginx (process 12)";
  const auto port = Find(Examine(host), "page_port");
  EXPECT_EQ(port->level, FindingLevel::kWarning);
  EXPECT_THAT(port->what, HasSubstr("taken by nginx (process 12)"));
}

TEST(Doctor, TheSocketThatListensOnAPort) {
  constexpr std::string_view kTcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1C03 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534        0 "
      "4711 1 x\n"
      "   1: 0100007F:1C04 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 "
      "4712 1 x\n";
  ASSERT_EQ(doctor::Listeners(kTcp, 7171).size(), 1u);
  EXPECT_EQ(doctor::Listeners(kTcp, 7171)[0].inode, 4711u);
  EXPECT_EQ(doctor::Listeners(kTcp, 7171)[0].uid, 65534u);
  EXPECT_TRUE(doctor::Listeners(kTcp, 7172).empty());  // Connected, and listening no more.
  EXPECT_TRUE(doctor::Listeners("0: x 0A\n: : : :\n", 7171).empty());
}

// The test's own socket, so by the kernel's word this user's; nobody else's is at hand here.
TEST(Doctor, WhoHoldsAPort) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const uint16_t port = ntohs(address.sin_port);
  EXPECT_TRUE(doctor::FindPortHolder(port).foreign());  // Bound, and listed nowhere.
  EXPECT_EQ(doctor::FindPortHolder(port).Text(), "");
  ASSERT_EQ(listen(listener, 1), 0);
  const doctor::PortHolder holder = doctor::FindPortHolder(port);
  close(listener);
  EXPECT_EQ(holder.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(holder.uid, geteuid());
  EXPECT_FALSE(holder.foreign());
  EXPECT_THAT(holder.Text(), HasSubstr(" (process " + std::to_string(getpid()) + ")"));
  doctor::PortHolder other = holder;
  other.uid = geteuid() + 1;
  other.user = "mallory";
  EXPECT_TRUE(other.foreign());
  EXPECT_THAT(other.Text(), HasSubstr(", user mallory)"));
  other.pid = 0;
  EXPECT_EQ(other.Text(), "a process of user mallory");
}

TEST(Doctor, SettingsThatDoNotMatterAreSaidNotToMatter) {
  FakeHost host;
  host.files["/proc/sys/kernel/perf_event_paranoid"] = "4\n";
  const auto finding = Find(Examine(host), "perf_event_paranoid");
  EXPECT_EQ(finding->level, FindingLevel::kGood);
  EXPECT_THAT(finding->what, HasSubstr("is 4: does not matter"));
}

TEST(Doctor, WhichPriorityHoldsIsSaid) {
  FakeHost host;
  host.DropCapabilities({23});
  host.files["/proc/self/limits"] =
      "Max nice priority         30                   30                   \n";
  const std::optional<Finding> by_thread = Find(Examine(host), "priority");
  ASSERT_TRUE(by_thread.has_value());
  EXPECT_EQ(by_thread->level, FindingLevel::kGood);
  EXPECT_THAT(by_thread->what, Not(HasSubstr("session")));

  host.files["/proc/sys/kernel/sched_autogroup_enabled"] = "1\n";
  EXPECT_THAT(Find(Examine(host), "priority")->what, HasSubstr("leads its session"));
}

TEST(Doctor, TheAgentsBudgetsAreSaid) {
  const DoctorOptions with{.settings = {.budgets = "memory 256MiB, CPU 50%"}};
  const auto finding = Find(Examine(FakeHost(), with), "budgets");
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->level, FindingLevel::kGood);
  EXPECT_THAT(finding->what, HasSubstr("memory 256MiB, CPU 50%"));
}

TEST(Doctor, ABareHostWithoutAnyFileGivesFindingsAndNoCrash) {
  FakeHost host;
  host.files.clear();
  host.links.clear();
  const Findings findings = Examine(host);
  EXPECT_EQ(Find(findings, "capabilities")->level, FindingLevel::kWarning);
  EXPECT_FALSE(SamplingPossible(findings));  // No types of the kernel.
}

TEST(Doctor, HostileFilesGiveFindingsAndNoCrash) {
  for (const std::string& junk : {std::string("CapEff:"), std::string("CapEff:\t\xff\xff"),
                                  std::string(5000, ' '), std::string("\n\n,,==\0\n", 8)}) {
    FakeHost host;
    for (auto& [path, text] : host.files) text = junk;
    EXPECT_EQ(Find(Examine(host), "capabilities")->level, FindingLevel::kWarning);
  }
}

TEST(Doctor, ARefusedOptionalProgramDoesNotBlock) {
  const Finding finding = ProgramRefused("python", "names of Python functions",
                                         absl::InvalidArgumentError("EINVAL"), "back-edge\n");
  EXPECT_EQ(finding.id, "program.python");
  EXPECT_TRUE(SamplingPossible({finding}));
  EXPECT_THAT(finding.detail, HasSubstr("back-edge"));
}

TEST(Doctor, SaysWhetherAReceiverAnswers) {
  const DoctorOptions options{
      .settings = {.receivers = {{.address = "http://a:4317 (--endpoint)", .problem = ""},
                                 {.address = "http://b:4317 (s.yaml:3)", .problem = "refused"}}}};
  Findings receivers;
  for (const Finding& finding : Examine(FakeHost(), options))
    if (finding.id == "receiver") receivers.push_back(finding);
  ASSERT_EQ(receivers.size(), 2u);
  EXPECT_EQ(receivers[0].level, FindingLevel::kGood);
  EXPECT_EQ(receivers[0].what, "the agent sends to http://a:4317 (--endpoint), which answers");
  EXPECT_EQ(receivers[1].level, FindingLevel::kWarning);
  EXPECT_THAT(receivers[1].what, HasSubstr("which fails: refused"));
}

}  // namespace
}  // namespace stackray
