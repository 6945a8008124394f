#include "tests/agent/sampling/sample_stream.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "kernel/process_files.h"

namespace stackray::test {
namespace {

constexpr size_t kLiveChildren = 4, kProcesses = 24;
constexpr uint32_t kOtherEnds[] = {
    END_NULL_RA,    END_NULL_FP, END_KERNEL_THREAD, END_READ_FAULT,       END_TOO_DEEP,
    END_NO_MAPPING, END_BAD_FP,  END_BUSY,          END_NO_ADDRESS_SPACE, END_NOT_EXECUTABLE};

std::vector<code_range> RangesOf(uint32_t pid) {
  std::vector<code_range> ranges = ReadExecutableRanges(pid).value_or(std::vector<code_range>{});
  if (ranges.size() > SAMPLE_MAX_RANGES) ranges.resize(SAMPLE_MAX_RANGES);
  return ranges;
}

}  // namespace

SampleStream::SampleStream(uint64_t seed, const std::string& directory, TestClock* clock,
                           bool kernel_changes)
    : random_(seed),
      directory_(directory),
      clock_(clock),
      mapped_(directory),
      kernel_(MakeKernelWorld(directory)),
      raw_(CaptureRawStack()) {
  if (kernel_ && kernel_changes)
    changing_kernel_ = std::make_unique<ChangingKernel>(*kernel_, clock);
  Process self;
  self.key = {.pid = static_cast<u32>(getpid()),
              .exec_id = 3,
              .start_time_ns = StartTimeOf(static_cast<uint32_t>(getpid()))};
  self.command = "the-test";
  self.ranges = RangesOf(self.key.pid);
  processes_.push_back(std::move(self));
  while (processes_.size() < 1 + kLiveChildren) StartChild();
}

// Every second one runs a program that only it has, deleted since: once it is dead, nobody can say
// what its code was.
void SampleStream::StartChild() {
  const int number = children_++;
  const bool own_copy = number % 2 == 0;
  const std::string path = own_copy ? directory_ + "/program" + std::to_string(number) : "";
  Process process;
  process.child = std::make_unique<ChildProcess>("/bin/sleep", std::vector<std::string>{"1000"},
                                                 path, own_copy);
  process.key = {.pid = process.child->pid(),
                 .exec_id = 1,
                 .start_time_ns = StartTimeOf(process.child->pid())};
  process.command = own_copy ? "own\xffprogram" : "sleep";
  process.ranges = process.child->ranges();
  processes_.push_back(std::move(process));
}

void SampleStream::AddMadeUp() {
  Process process;
  const bool reused = Chance(3);
  process.key = {.pid = reused ? next_made_up_ : ++next_made_up_,
                 .exec_id = Below(3) + 1,
                 .start_time_ns = clock_->boot_time_ns - Below(1000) * 1'000'000};
  process.command = "made-up;" + std::to_string(process.key.pid % 7);
  process.ranges.push_back(JitRange());
  process.ranges.push_back(MissingFileRange(1 + Below(4)));
  const Process& self = processes_.front();
  for (uint64_t index : self.asked)
    if (Chance(2)) process.ranges.push_back(self.ranges[index]);
  if (process.ranges.size() > SAMPLE_MAX_RANGES) process.ranges.resize(SAMPLE_MAX_RANGES);
  processes_.push_back(std::move(process));
}

SampleStream::Process& SampleStream::AnyProcess() {
  return Chance(4)
             ? processes_.front()
             : *std::next(processes_.begin(), Below(static_cast<uint32_t>(processes_.size())));
}

SampleParts SampleStream::Base(const Process& process) {
  static constexpr std::string_view kThreads[] = {"", "worker", "bad\xc3\x28name",
                                                  "exactly15bytes!"};
  clock_->boot_time_ns += 1 + Below(2'000'000);
  SampleParts parts{.process = process.key, .time_ns = clock_->boot_time_ns};
  parts.tid = process.key.pid + Below(4);
  parts.cpu = Below(8);
  parts.leader_command = process.command;
  parts.thread_command = kThreads[Below(4)];
  ++counts_.samples;
  times_.insert(parts.time_ns);
  return parts;
}

std::vector<uint64_t> SampleStream::RangesToShow(Process& process) {
  std::vector<uint64_t> shown;
  for (uint64_t i = 0; i < process.ranges.size(); ++i) {
    const bool allowed = process.waiting < 0 || process.asked.contains(i);
    if (allowed && Chance(2)) shown.push_back(i);
  }
  return shown;
}

void SampleStream::FillStack(Process& process, SampleParts* parts) {
  const std::vector<uint64_t> shown = RangesToShow(process);
  for (uint64_t index : shown) parts->ranges.push_back(process.ranges[index]);
  const uint32_t frames = Chance(150) ? 900 : 1 + Below(20);
  for (uint32_t i = 0; i < frames; ++i) {
    if (shown.empty() || Chance(40)) {
      parts->user.push_back(FrameWord(FRAME_NO_RANGE, 0, 0x1234 + i));
      continue;
    }
    const uint32_t at = Below(static_cast<uint32_t>(shown.size()));
    const code_range& range = parts->ranges[at];
    const uint64_t offset = 1 + random_() % (range.end - range.start - 1);
    parts->user.push_back(
        FrameWord(i == 0 ? FRAME_EXACT : FRAME_RETURN, at, range.file_offset + offset));
    process.asked.insert(shown[at]);
  }
}

uint64_t SampleStream::KernelAddress() {
  if (changing_kernel_) return changing_kernel_->AnyAddress(random_);
  return kernel_->addresses[Below(static_cast<uint32_t>(kernel_->addresses.size()))];
}

RecordBytes SampleStream::Sample(Process& process) {
  SampleParts parts = Base(process);
  if (kernel_ && Chance(2)) {
    parts.flags |= SAMPLE_IN_KERNEL;
    for (uint32_t i = 0, n = 1 + Below(8); i < n; ++i) parts.kernel.push_back(KernelAddress());
    if (Chance(20)) parts.flags |= SAMPLE_KERNEL_CUT;
  }
  parts.end = Chance(5) ? kOtherEnds[Below(std::size(kOtherEnds))] : uint32_t{END_UNDEFINED_RA};
  if (parts.end != END_KERNEL_THREAD && parts.end != END_NO_ADDRESS_SPACE)
    FillStack(process, &parts);
  return MakeSample(parts);
}

RecordBytes SampleStream::RawSampleOfSelf() {
  const Process& self = processes_.front();
  SampleParts parts = Base(self);
  parts.ranges = self.ranges;
  parts.flags = SAMPLE_HAS_RAW;
  parts.end = END_UNKNOWN_FILE;
  parts.resume = raw_.registers;
  parts.raw = raw_.bytes;
  ++counts_.raw;
  return MakeSample(parts);
}

// A record that was right, and is not any more.
RecordBytes SampleStream::Damaged() {
  RecordBytes record = Sample(processes_.front());
  --counts_.samples;
  times_.erase(clock_->boot_time_ns);
  ++counts_.damaged;
  auto* sample = reinterpret_cast<sample_record*>(record.data());
  switch (Below(5)) {
    case 0: sample->header.layout = 99; break;
    case 1: record.size -= 8; break;
    case 2: sample->user_words = 60'000; break;
    case 3: sample->header.type = 77; break;
    case 4: sample->end = 200; break;
  }
  return record;
}

RecordBytes SampleStream::Exit(std::list<Process>::iterator process) {
  ++counts_.events;
  const RecordBytes exit =
      MakeEvent(RECORD_EXIT, process->key, 1, process->command, clock_->boot_time_ns);
  const bool was_child = process->child != nullptr;
  processes_.erase(process);
  if (was_child) StartChild();
  return exit;
}

// A birth, an exec or a death.
RecordBytes SampleStream::Event() {
  if (processes_.size() < kProcesses || Chance(3)) {
    AddMadeUp();
    ++counts_.events;
    return MakeEvent(RECORD_FORK, processes_.back().key, 1, "made-up", clock_->boot_time_ns);
  }
  const auto process =
      std::next(processes_.begin(), 1 + Below(static_cast<uint32_t>(processes_.size() - 1)));
  if (process->waiting >= 0) return Sample(*process);
  if (process->child != nullptr && Chance(2)) {
    process->child->Kill();
    process->waiting = static_cast<int>(Below(30));
    ++counts_.deaths;
    return Sample(*process);
  }
  if (process->child == nullptr && Chance(2)) return Exit(process);
  ++process->key.exec_id;
  process->asked.clear();
  ++counts_.events;
  return MakeEvent(RECORD_EXEC, process->key, 1, process->command, clock_->boot_time_ns);
}

RecordBytes SampleStream::Next() {
  if (changing_kernel_) changing_kernel_->MaybeChange(random_);
  for (auto process = processes_.begin(); process != processes_.end(); ++process)
    if (process->waiting == 0) return Exit(process);
  const uint32_t dice = Below(100);
  if (dice < 2) return Damaged();
  if (dice < 7) return Event();
  if (dice < 9) return RawSampleOfSelf();
  Process& process = AnyProcess();
  if (process.waiting > 0) {
    --process.waiting;
    ++counts_.after_death;
  }
  return Sample(process);
}

}  // namespace stackray::test
