#include "agent/doctor/live_host_probe.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "agent/doctor/port_owner.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kVerifierLogBytes = 64 << 10;

// The smallest program there is: return 0.
constexpr std::array<bpf_insn, 2> kReturnZero{{
    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
    {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
}};

// Keeps libbpf quiet for its lifetime.
class QuietLibbpf {
 public:
  QuietLibbpf() : previous_(libbpf_set_print(nullptr)) {}
  ~QuietLibbpf() { libbpf_set_print(previous_); }
  QuietLibbpf(const QuietLibbpf&) = delete;
  QuietLibbpf& operator=(const QuietLibbpf&) = delete;

 private:
  libbpf_print_fn_t previous_;
};

struct OpenAttempt {
  UniqueFd fd;
  Attempt attempt;
};

OpenAttempt OpenCounter(uint32_t type, uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = type;
  attr.config = config;
  attr.freq = 1;
  attr.sample_freq = 19;
  attr.disabled = 1;
  const int cpu = std::max(sched_getcpu(), 0);
  const long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return {UniqueFd(), {errno, ""}};
  return {UniqueFd(static_cast<int>(fd)), {}};
}

OpenAttempt LoadReturnZero(bpf_prog_type type, bpf_attach_type attach, uint32_t attach_btf_id) {
  std::string log(kVerifierLogBytes, '\0');
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach,
              .attach_btf_id = attach_btf_id, .log_level = 1,
              .log_size = static_cast<uint32_t>(log.size()), .log_buf = log.data());
  const int fd = bpf_prog_load(type, "stackray_doctor", "GPL", kReturnZero.data(),
                               kReturnZero.size(), &options);
  if (fd >= 0) return {UniqueFd(fd), {}};
  const int error = -fd;
  log.resize(std::min(log.find('\0'), log.size()));
  return {UniqueFd(), {error, std::move(log)}};
}

OpenAttempt LoadPerfReturnZero() {
  return LoadReturnZero(BPF_PROG_TYPE_PERF_EVENT, BPF_PERF_EVENT, 0);
}

utsname KernelNames() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return names;
}

absl::Status ErrnoStatus(int error, const std::string& path) {
  return absl::ErrnoToStatus(error, path);
}

}  // namespace

absl::StatusOr<std::string> LiveHostProbe::ReadText(const std::string& path, size_t limit) const {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  std::string text(limit, '\0');
  size_t size = 0;
  while (size < limit) {
    const ssize_t got = read(fd.get(), text.data() + size, limit - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

absl::StatusOr<std::string> LiveHostProbe::ReadLink(const std::string& path) const {
  std::array<char, 256> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return ErrnoStatus(errno, path);
  return std::string(target.data(), static_cast<size_t>(size));
}

bool LiveHostProbe::Exists(const std::string& path) const {
  return access(path.c_str(), F_OK) == 0;
}

std::string LiveHostProbe::KernelRelease() const { return KernelNames().release; }
std::string LiveHostProbe::KernelBuild() const { return KernelNames().version; }
std::string LiveHostProbe::Machine() const { return KernelNames().machine; }

Attempt LiveHostProbe::OpenCpuClock() const {
  return OpenCounter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK).attempt;
}

Attempt LiveHostProbe::OpenHardwareCycles() const {
  return OpenCounter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES).attempt;
}

Attempt LiveHostProbe::LoadPerfProgram() const {
  const QuietLibbpf quiet;
  return LoadPerfReturnZero().attempt;
}

Attempt LiveHostProbe::AttachPerfProgram() const {
  const QuietLibbpf quiet;
  const OpenAttempt program = LoadPerfReturnZero();
  if (!program.attempt.ok()) return program.attempt;
  const OpenAttempt counter = OpenCounter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  if (!counter.attempt.ok()) return counter.attempt;
  if (ioctl(counter.fd.get(), PERF_EVENT_IOC_SET_BPF, program.fd.get()) != 0) return {errno, ""};
  return {};
}

Attempt LiveHostProbe::AttachProcessEvents() const {
  const QuietLibbpf quiet;
  const int type_id = libbpf_find_vmlinux_btf_id("sched_process_exec", BPF_TRACE_RAW_TP);
  if (type_id < 0) return {-type_id, ""};
  const OpenAttempt program =
      LoadReturnZero(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, static_cast<uint32_t>(type_id));
  if (!program.attempt.ok()) return program.attempt;
  const UniqueFd link(bpf_raw_tracepoint_open(nullptr, program.fd.get()));
  return {link.valid() ? 0 : errno, ""};
}

Attempt LiveHostProbe::CreateRingBuffer() const {
  const QuietLibbpf quiet;
  const auto page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  const int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "stackray_doctor", 0, 0, page_bytes, nullptr);
  if (fd < 0) return {-fd, ""};
  const UniqueFd closes(fd);
  return {};
}

Attempt LiveHostProbe::ListenOn(uint16_t port) const {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return {errno, ""};
  const int reuse = 1;  // As the page's server does: connections that just ended do not matter.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) != 0)
    return {errno, ""};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd.get(), 1) != 0) {
    return {errno, ""};
  }
  return {};
}

std::string LiveHostProbe::OwnerOfPort(uint16_t port) const {
  return doctor::FindPortHolder(port).Text();
}

Attempt LiveHostProbe::WriteBelow(const std::string& folder) const {
  std::error_code ignored;
  std::filesystem::path existing(folder);
  while (!std::filesystem::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  std::string name = (existing / ".stackray-doctor-XXXXXX").string();
  const UniqueFd fd(mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return {errno, ""};
  return {unlink(name.c_str()) == 0 ? 0 : errno, ""};
}

}  // namespace stackray
