#include "tests/agent/sampling/changing_kernel.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <span>
#include <utility>

namespace stackray::test {
namespace {

constexpr uint64_t kModuleStart = 0xffffffffc0000000, kModuleStep = 0x10000;
constexpr uint64_t kProgramStart = 0xffffffffc1000000, kProgramStep = 0x1000;
constexpr uint32_t kFunctions = 8, kFunctionBytes = 0x100, kProgramBytes = 0x400;
constexpr uint32_t kModuleBytes = kFunctions * kFunctionBytes;
// A kernel's symbols are read at most twice a second for modules; faster changes have no names.
constexpr uint64_t kModuleIntervalNs = 1'000'000'000;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

class ChangingKernel::Reader : public CodeEvents {
 public:
  Reader(std::shared_ptr<Shared> shared, const TestClock* clock)
      : shared_(std::move(shared)), clock_(clock) {}
  uint64_t NowNs() override { return clock_->boot_time_ns; }
  bool Drain(const std::function<void(const CodeEvent&)>& take) override {
    const std::deque<CodeEvent> waiting = std::exchange(shared_->waiting, {});
    for (const CodeEvent& event : waiting) take(event);
    return true;
  }
  void FollowCpus(std::span<const int>) override {}
  std::map<uint64_t, uint32_t> ProgramSizes() override { return shared_->program_sizes; }

 private:
  const std::shared_ptr<Shared> shared_;
  const TestClock* const clock_;
};

ChangingKernel::ChangingKernel(const KernelWorld& world, const TestClock* clock)
    : world_(world), fixed_symbols_(ReadText(world.files.kallsyms)), clock_(clock) {
  for (size_t i = 0; i < modules_.size(); ++i) modules_[i].start = kModuleStart + i * kModuleStep;
  for (size_t i = 0; i < programs_.size(); ++i)
    programs_[i].start = kProgramStart + i * kProgramStep;
}

std::unique_ptr<CodeEvents> ChangingKernel::NewReader() {
  readers_.push_back(std::make_shared<Shared>());
  for (const Piece& program : programs_)
    if (!program.name.empty()) readers_.back()->program_sizes[program.start] = kProgramBytes;
  return std::make_unique<Reader>(readers_.back(), clock_);
}

void ChangingKernel::Report(const CodeEvent& event) {
  for (const std::shared_ptr<Shared>& reader : readers_) {
    reader->waiting.push_back(event);
    if (event.kind == CodeEvent::Kind::kBegin)
      reader->program_sizes[event.start] = static_cast<uint32_t>(event.size_bytes);
    if (event.kind == CodeEvent::Kind::kEnd) reader->program_sizes.erase(event.start);
  }
}

void ChangingKernel::WriteFiles() const {
  std::string symbols = fixed_symbols_, modules;
  for (const Piece& module : modules_) {
    if (module.name.empty()) continue;
    modules += fmt::format("{} {} 0 - Live 0x{:x}\n", module.name, kModuleBytes, module.start);
    for (uint32_t i = 0; i < kFunctions; ++i)
      symbols += fmt::format("{:x} t {}_function{}\t[{}]\n", module.start + i * kFunctionBytes,
                             module.name, i, module.name);
  }
  for (const Piece& program : programs_)
    if (!program.name.empty())
      symbols += fmt::format("{:x} t {}\t[bpf]\n", program.start, program.name);
  std::ofstream(world_.files.kallsyms) << symbols;
  std::ofstream(world_.files.modules) << modules;
}

void ChangingKernel::ChangeModule(std::mt19937_64& random) {
  next_module_change_ns_ = clock_->boot_time_ns + kModuleIntervalNs;
  Piece& module = modules_[random() % modules_.size()];
  CodeEvent event{.kind = CodeEvent::Kind::kModuleAdded, .time_ns = clock_->boot_time_ns};
  if (module.name.empty()) {
    module.name = fmt::format("module{}", names_++);
    event.name = module.name;
    ++counts_.loads;
  } else {
    event.kind = CodeEvent::Kind::kModuleRemoved;
    event.name = std::exchange(module.name, "");
    ++counts_.unloads;
  }
  WriteFiles();
  Report(event);
}

void ChangingKernel::ChangeProgram(std::mt19937_64& random) {
  Piece& program = programs_[random() % programs_.size()];
  CodeEvent event{.kind = CodeEvent::Kind::kBegin,
                  .time_ns = clock_->boot_time_ns,
                  .start = program.start,
                  .size_bytes = kProgramBytes};
  if (program.name.empty()) {
    program.name = fmt::format("bpf_prog_{:016x}_name{}", random(), names_++);
    event.name = program.name;
    ++counts_.programs;
  } else {
    event.kind = CodeEvent::Kind::kEnd;
    event.name = std::exchange(program.name, "");
  }
  WriteFiles();
  Report(event);
}

void ChangingKernel::MaybeChange(std::mt19937_64& random) {
  if (random() % 100 == 0) ChangeProgram(random);
  if (random() % 1000 == 0 && clock_->boot_time_ns >= next_module_change_ns_) ChangeModule(random);
}

uint64_t ChangingKernel::AnyAddress(std::mt19937_64& random) const {
  if (random() % 4 == 0) {
    const Piece& module = modules_[random() % modules_.size()];
    if (!module.name.empty()) return module.start + 1 + random() % (kModuleBytes - 1);
  }
  if (random() % 4 == 0) {
    const Piece& program = programs_[random() % programs_.size()];
    if (!program.name.empty()) return program.start + 1 + random() % (kProgramBytes - 1);
  }
  return world_.addresses[random() % world_.addresses.size()];
}

}  // namespace stackray::test
