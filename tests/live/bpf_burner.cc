#include "tests/live/bpf_burner.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

namespace stackray::test {
namespace {

constexpr int kInstructions = 3000;  // Some microseconds a run.
constexpr int kRunsACall = 10'000;

std::vector<bpf_insn> BurningCode(int32_t seed) {
  std::vector<bpf_insn> code;
  code.push_back({.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = seed});
  for (int i = 0; i < kInstructions; ++i)
    code.push_back({.code = BPF_ALU64 | BPF_MUL | BPF_K, .dst_reg = BPF_REG_0, .imm = seed + i});
  code.push_back({.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0});
  code.push_back({.code = BPF_JMP | BPF_EXIT});
  return code;
}

[[noreturn]] void RunForEver(int program) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<char, 64> packet = {};
  while (true) {
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet.data(), .data_size_in = packet.size(),
                .repeat = kRunsACall);
    if (bpf_prog_test_run_opts(program, &options) != 0) usleep(1000);
  }
}

}  // namespace

std::optional<BpfBurner> BpfBurner::Load(const std::string& name, int32_t seed) {
  const std::vector<bpf_insn> code = BurningCode(seed);
  BpfBurner burner;
  burner.program_ = UniqueFd(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, name.c_str(), "GPL",
                                           code.data(), code.size(), nullptr));
  if (!burner.program_.valid() || !burner.Describe(name)) return std::nullopt;
  return burner;
}

bool BpfBurner::Describe(const std::string& name) {
  uint32_t length = 0;
  bpf_prog_info info = {};
  info.nr_jited_ksyms = info.nr_jited_func_lens = 1;
  info.jited_ksyms = reinterpret_cast<uint64_t>(&start_);
  info.jited_func_lens = reinterpret_cast<uint64_t>(&length);
  uint32_t info_bytes = sizeof(info);
  if (bpf_obj_get_info_by_fd(program_.get(), &info, &info_bytes) != 0 || start_ == 0) return false;
  size_bytes_ = length;
  symbol_ = "bpf_prog_";
  for (const uint8_t byte : info.tag) symbol_ += fmt::format("{:02x}", byte);
  symbol_ += "_" + name;
  return true;
}

BpfBurner::BpfBurner(BpfBurner&& other) noexcept { *this = std::move(other); }

BpfBurner& BpfBurner::operator=(BpfBurner&& other) noexcept {
  if (this == &other) return *this;
  Stop();
  program_ = std::move(other.program_);
  symbol_ = std::move(other.symbol_);
  start_ = other.start_;
  size_bytes_ = other.size_bytes_;
  pid_ = std::exchange(other.pid_, 0);
  return *this;
}

BpfBurner::~BpfBurner() { Stop(); }

uint32_t BpfBurner::Start() {
  pid_ = fork();
  if (pid_ == 0) RunForEver(program_.get());
  if (pid_ < 0) pid_ = 0;
  return static_cast<uint32_t>(pid_);
}

void BpfBurner::Stop() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace stackray::test
