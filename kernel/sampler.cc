#include "kernel/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bpf/sampler.skel.h"
#include "kernel/bpf_context_memory.h"
#include "kernel/bpf_maps.h"
#include "kernel/bpf_row_memory.h"
#include "kernel/bpf_runtime_memory.h"
#include "kernel/capture_clocks.h"
#include "kernel/cpu_list.h"
#include "kernel/deadly_signals.h"
#include "kernel/off_cpu_programs.h"
#include "kernel/pid_namespace.h"
#include "kernel/running_kernel.h"
#include "kernel/sampler_programs.h"
#include "kernel/unique_fd.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

// No program that takes a sample interrupts another one (docs/off-cpu.md).
constexpr uint32_t kScratchSlotsPerCpu = 1;

int Forward(void* take, void* data, size_t size) {
  (*static_cast<const Sampler::TakeRecord*>(take))({static_cast<const uint8_t*>(data), size});
  return 0;
}

// A reader that is slower than the clocks would otherwise never come back.
constexpr int kMostSamplesAtOnce = 2048;

struct TakeSome {
  Sampler::TakeRecord take;
  int taken = 0;
};

// A negative answer ends the reading; the record itself counts as read.
int ForwardSome(void* context, void* data, size_t size) {
  auto& some = *static_cast<TakeSome*>(context);
  some.take({static_cast<const uint8_t*>(data), size});
  return ++some.taken < kMostSamplesAtOnce ? 0 : -ECANCELED;
}

// `wake`: an eventfd that ends the wait.
void WaitForRing(const ring_buffer* ring, const UniqueFd& wake, int timeout_ms) {
  pollfd ready[] = {{ring_buffer__epoll_fd(ring), POLLIN, 0}, {wake.get(), POLLIN, 0}};
  poll(ready, std::size(ready), timeout_ms);
  uint64_t wakes = 0;
  if (ready[1].revents != 0) (void)!read(wake.get(), &wakes, sizeof(wakes));
}

void Wake(const UniqueFd& eventfd) {
  const uint64_t one = 1;
  (void)!write(eventfd.get(), &one, sizeof(one));
}

}  // namespace

class Sampler::Impl {
 public:
  explicit Impl(const SamplerSettings& settings) : settings_(settings) {}
  ~Impl() {
    clocks_.reset();
    signals_.reset();
    off_cpu_.reset();
    rows_.reset();
    ring_buffer__free(samples_);
    ring_buffer__free(misses_);
    sampler_bpf__destroy(skeleton_);
  }

  absl::Status Load();
  absl::Status Attach();
  absl::Status StartWaits(int capture);
  void StopWaits(int capture);
  absl::Status StartSignals(int capture);
  void StopSignals(int capture);

  SamplerSettings settings_;
  sampler_bpf* skeleton_ = nullptr;
  ring_buffer* samples_ = nullptr;
  ring_buffer* misses_ = nullptr;
  TakeSome take_samples_;
  TakeRecord take_miss_;
  UniqueFd sample_reader_wake_, miss_reader_wake_;  // Each an eventfd.
  control* control_ = nullptr;                      // The program's own, which libbpf has mapped.
  std::unique_ptr<BpfRowMemory> rows_;
  std::unique_ptr<BpfRuntimeMemory> runtimes_;
  std::unique_ptr<BpfContextMemory> contexts_;
  std::unique_ptr<CaptureTargets> targets_;
  std::unique_ptr<CaptureClocks> clocks_;
  std::unique_ptr<OffCpuPrograms> off_cpu_;  // nullptr: waits are not sampled.
  std::unique_ptr<DeadlySignals> signals_;   // nullptr: nobody wanted last stacks so far.
  std::vector<std::string> warnings_;
  int cpu_count_ = 1;
  uint64_t fixed_map_bytes_ = 0;
  bool slices_allowed_ = true;
  RuntimeSet left_out_ = 0;

 private:
  absl::Status SizeMaps();
  void SetControls();
  absl::Status MakeInner();
  absl::Status ChooseSources();
  absl::Status LoadWaits();
  absl::Status OpenRings();
  uint64_t SumOfMaps() const;

  // Maps of maps, and the bytes of an inner one's value: libbpf forgets the latter when it loads.
  std::vector<std::pair<bpf_map*, uint32_t>> by_cpu_;
};

absl::Status Sampler::Impl::SizeMaps() {
  by_cpu_.clear();
  absl::StatusOr<int> cpus = PossibleCpuCount();
  if (!cpus.ok()) return cpus.status();
  cpu_count_ = *cpus;
  skeleton_->rodata->scratch_slots_per_cpu = kScratchSlotsPerCpu;
  skeleton_->rodata->pid_namespace = PidNamespaceOfProc();
  skeleton_->rodata->refused_runtimes = settings_.refused_runtimes;
  skeleton_->rodata->max_listed_waits = settings_.off_cpu_threads / 4 * 3;
#if defined(__aarch64__)
  skeleton_->rodata->kernel_page_shift =
      static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
#endif
  bpf_map__set_max_entries(skeleton_->maps.scratches,
                           static_cast<uint32_t>(cpu_count_) * kScratchSlotsPerCpu);
  for (bpf_map* map :  // Declared for one CPU.
       {skeleton_->maps.range_lists, skeleton_->maps.cpu_ranges, skeleton_->maps.cpu_codes})
    bpf_map__set_max_entries(map, static_cast<uint32_t>(cpu_count_));
  for (bpf_map* map : {skeleton_->maps.cpu_ranges, skeleton_->maps.cpu_codes})
    by_cpu_.emplace_back(map, bpf_map__value_size(bpf_map__inner_map(map)));
  bpf_map__set_max_entries(skeleton_->maps.samples, settings_.sample_ring_bytes);
  bpf_map__set_max_entries(skeleton_->maps.target_pids, std::max(settings_.target_pids, 1u));
  if (settings_.context == CONTEXT_MODE_OFF)
    bpf_map__set_max_entries(skeleton_->maps.thread_contexts, 1);
  return absl::OkStatus();
}

void Sampler::Impl::SetControls() {
  control_ = &skeleton_->data_controls->controls;
  control_->raw_budget_bytes = static_cast<int64_t>(settings_.raw_budget_bytes);
  control_->wakeup_bytes = settings_.sample_ring_bytes / 8;
  control_->off_cpu_rate = settings_.off_cpu_rate;
  control_->context_mode = settings_.context;
}

absl::Status Sampler::Impl::OpenRings() {
  samples_ =
      ring_buffer__new(bpf_map__fd(skeleton_->maps.samples), ForwardSome, &take_samples_, nullptr);
  misses_ = ring_buffer__new(bpf_map__fd(skeleton_->maps.misses), Forward, &take_miss_, nullptr);
  for (UniqueFd* wake : {&sample_reader_wake_, &miss_reader_wake_})
    wake->reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (samples_ == nullptr || misses_ == nullptr || !sample_reader_wake_.valid() ||
      !miss_reader_wake_.valid())
    return absl::InternalError(absl::StrCat("cannot map the rings: ", strerror(errno)));
  return absl::OkStatus();
}

absl::Status Sampler::Impl::Load() {
  if (absl::Status status = CheckRunningKernel(); !status.ok()) return status;
  const absl::StatusOr<LoadedSampler> loaded = LoadSamplerPrograms([this](sampler_bpf* skeleton) {
    skeleton_ = skeleton;
    return SizeMaps();
  });
  skeleton_ = loaded.ok() ? loaded->skeleton : nullptr;
  if (!loaded.ok()) return loaded.status();
  left_out_ = loaded->left_out;
  for (const std::string& name : RuntimeNames(left_out_))
    warnings_.push_back(absl::StrCat("frames of ", name, " are not walked: ", loaded->refusal));
  SetControls();
  if (absl::Status status = MakeInner(); !status.ok()) return status;
  rows_ = std::make_unique<BpfRowMemory>(
      BpfRowMemory::Maps{.chunks = bpf_map__fd(skeleton_->maps.chunks),
                         .files = bpf_map__fd(skeleton_->maps.files),
                         .moved_texts = bpf_map__fd(skeleton_->maps.moved_texts),
                         .jit_processes = bpf_map__fd(skeleton_->maps.jit_processes),
                         .max_files = bpf_map__max_entries(skeleton_->maps.files)},
      reinterpret_cast<uint64_t*>(&control_->file_generation));
  runtimes_ = std::make_unique<BpfRuntimeMemory>(
      bpf_map__fd(skeleton_->maps.runtime_files), bpf_map__fd(skeleton_->maps.stack_runtimes),
      bpf_map__fd(skeleton_->maps.without_stack_runtime));
  contexts_ =
      std::make_unique<BpfContextMemory>(bpf_map__fd(skeleton_->maps.thread_contexts), control_);
  targets_ = std::make_unique<CaptureTargets>(
      CaptureTargets::Maps{.pids = bpf_map__fd(skeleton_->maps.target_pids),
                           .cgroups = bpf_map__fd(skeleton_->maps.target_cgroups),
                           .commands = bpf_map__fd(skeleton_->maps.target_commands),
                           .users = bpf_map__fd(skeleton_->maps.target_users),
                           .label_names = bpf_map__fd(skeleton_->maps.label_names),
                           .labels = bpf_map__fd(skeleton_->maps.target_labels),
                           .max_pids = settings_.target_pids},
      control_);
  clocks_ = std::make_unique<CaptureClocks>(skeleton_->progs.on_cpu_clock, control_);
  if (absl::Status status = ChooseSources(); !status.ok()) return status;
  return OpenRings();
}

absl::Status Sampler::Impl::MakeInner() {
  fixed_map_bytes_ = SumOfMaps();
  for (const auto& [outer, value_bytes] : by_cpu_) {
    const absl::StatusOr<uint64_t> bytes = MakeInnerArrays(outer, value_bytes);
    if (!bytes.ok()) return bytes.status();
    fixed_map_bytes_ += *bytes;
  }
  return absl::OkStatus();
}

// Of capture 0. Waits that the kernel refuses take nothing else down.
absl::Status Sampler::Impl::ChooseSources() {
  if (settings_.cpu_clock)
    if (absl::Status status = clocks_->SetFrequency(0, settings_.frequency_hz); !status.ok())
      return status;
  if (settings_.page_faults)
    if (absl::Status status = clocks_->SetPageFaults(0, settings_.page_fault_period); !status.ok())
      return status;
  if (!settings_.off_cpu) return absl::OkStatus();
  if (absl::Status status = LoadWaits(); !status.ok())
    warnings_.push_back("waits are not sampled: " + std::string(status.message()));
  return absl::OkStatus();
}

absl::Status Sampler::Impl::LoadWaits() {
  if (off_cpu_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<OffCpuPrograms>> programs =
      OffCpuPrograms::Load(*skeleton_, settings_.off_cpu_threads);
  if (!programs.ok()) return programs.status();
  off_cpu_ = *std::move(programs);
  fixed_map_bytes_ += off_cpu_->map_bytes();
  return absl::OkStatus();
}

absl::Status Sampler::Impl::StartWaits(int capture) {
  if (absl::Status status = LoadWaits(); !status.ok()) return status;
  if (absl::Status status = off_cpu_->Attach(); !status.ok()) return status;
  control_->waits_since_ns = BootTimeNs();
  __atomic_fetch_or(&control_->of_waits, 1u << capture, __ATOMIC_SEQ_CST);
  return absl::OkStatus();
}

void Sampler::Impl::StopWaits(int capture) {
  __atomic_fetch_and(&control_->of_waits, ~(1u << capture), __ATOMIC_SEQ_CST);
}

absl::Status Sampler::Impl::StartSignals(int capture) {
  if (signals_ == nullptr) {
    absl::StatusOr<std::unique_ptr<DeadlySignals>> signals = DeadlySignals::Load(*skeleton_);
    if (!signals.ok()) return signals.status();
    signals_ = *std::move(signals);
  }
  __atomic_fetch_or(&control_->of_signals, 1u << capture, __ATOMIC_SEQ_CST);
  return absl::OkStatus();
}

void Sampler::Impl::StopSignals(int capture) {
  __atomic_fetch_and(&control_->of_signals, ~(1u << capture), __ATOMIC_SEQ_CST);
}

absl::Status Sampler::Impl::Attach() {
  bpf_program* const events[] = {skeleton_->progs.on_fork, skeleton_->progs.on_exec,
                                 skeleton_->progs.on_exit_task, skeleton_->progs.on_cgroup_move};
  bpf_link** const links[] = {&skeleton_->links.on_fork, &skeleton_->links.on_exec,
                              &skeleton_->links.on_exit_task, &skeleton_->links.on_cgroup_move};
  for (size_t i = 0; i < std::size(events); ++i) {
    *links[i] = bpf_program__attach(events[i]);
    if (*links[i] == nullptr)
      return absl::InternalError(
          absl::StrCat("cannot attach ", bpf_program__name(events[i]), ": ", strerror(errno)));
  }
  return off_cpu_ != nullptr ? StartWaits(0) : absl::OkStatus();
}

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sampler::~Sampler() = default;

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::Create(const SamplerSettings& settings) {
  auto impl = std::make_unique<Impl>(settings);
  if (absl::Status status = impl->Load(); !status.ok()) return status;
  return std::unique_ptr<Sampler>(new Sampler(std::move(impl)));
}

CaptureTargets& Sampler::targets() { return *impl_->targets_; }

absl::Status Sampler::Start() {
  if (absl::Status status = impl_->Attach(); !status.ok()) return status;
  impl_->control_->enabled = 1;
  if (absl::Status status = impl_->targets_->AddDescendants(0); !status.ok()) return status;
  absl::StatusOr<std::vector<int>> online = OnlineCpus();
  return online.ok() ? FollowCpus(*online) : online.status();
}

absl::Status Sampler::FollowCpus(std::span<const int> online) {
  return impl_->clocks_->Follow(online);
}

absl::StatusOr<uint64_t> Sampler::SetFrequency(double frequency_hz) {
  if (impl_->settings_.cpu_clock)
    if (absl::Status status = impl_->clocks_->SetFrequency(0, frequency_hz); !status.ok())
      return status;
  return BootTimeNs();
}

absl::Status Sampler::StartCapture(int capture, const CaptureSources& sources) {
  if (absl::Status status = impl_->targets_->AddDescendants(capture); !status.ok()) return status;
  if (sources.off_cpu)
    if (absl::Status status = impl_->StartWaits(capture); !status.ok()) return status;
  if (sources.deadly_signals)
    if (absl::Status status = impl_->StartSignals(capture); !status.ok()) return status;
  if (sources.page_faults)
    if (absl::Status status =
            impl_->clocks_->SetPageFaults(capture, impl_->settings_.page_fault_period);
        !status.ok())
      return status;
  return impl_->clocks_->SetFrequency(capture, sources.frequency_hz);
}

// The clock of the new rate begins when that of the old one has ended, or was another capture's
// before: no sample of the new rate is older than the answer.
absl::StatusOr<uint64_t> Sampler::SetCaptureFrequency(int capture, double frequency_hz) {
  if (absl::Status status = impl_->clocks_->SetFrequency(capture, 0); !status.ok()) return status;
  const uint64_t from_ns = BootTimeNs();
  if (absl::Status status = impl_->clocks_->SetFrequency(capture, frequency_hz); !status.ok())
    return status;
  return from_ns;
}

void Sampler::StopCapture(int capture) {
  impl_->clocks_->SetFrequency(capture, 0).IgnoreError();   // Ending one never fails,
  impl_->clocks_->SetPageFaults(capture, 0).IgnoreError();  // nor this.
  impl_->StopWaits(capture);
  impl_->StopSignals(capture);
  impl_->targets_->Forget(capture);
}

void Sampler::SetCaptureBudget(double samples_a_second) {
  impl_->control_->capture_interval_ns =
      samples_a_second > 0 ? static_cast<uint64_t>(1e9 / samples_a_second) : 0;
}

void Sampler::SetOffCpuRate(uint32_t rate) { impl_->control_->off_cpu_rate = std::max(rate, 1u); }

// The budget may be below zero while slices wait in the ring; then there are none.
void Sampler::AllowSlices(bool allow) {
  if (allow == impl_->slices_allowed_) return;
  impl_->slices_allowed_ = allow;
  const auto budget = static_cast<int64_t>(impl_->settings_.raw_budget_bytes);
  __atomic_fetch_add(&impl_->control_->raw_budget_bytes, allow ? budget : -budget,
                     __ATOMIC_RELAXED);
}

void Sampler::StopOnNextSample() {
  impl_->control_->stop_signal = SIGSTOP;
  const uint32_t order = 1;  // One that is still there is as good: the queue holds one.
  bpf_map_update_elem(bpf_map__fd(impl_->skeleton_->maps.stop_orders), nullptr, &order, BPF_ANY);
}

void Sampler::Stop() {
  impl_->clocks_->Stop();
  impl_->control_->enabled = 0;
}

int Sampler::ReadSamples(const TakeRecord& take) {
  TakeSome& some = impl_->take_samples_ = {.take = take};
  ring_buffer__consume(impl_->samples_);
  return some.taken;
}

void Sampler::WaitForSamples() { WaitForRing(impl_->samples_, impl_->sample_reader_wake_, -1); }

void Sampler::WakeSampleReader() { Wake(impl_->sample_reader_wake_); }

int Sampler::ReadMisses(int timeout_ms, const TakeRecord& take) {
  impl_->take_miss_ = take;
  WaitForRing(impl_->misses_, impl_->miss_reader_wake_, timeout_ms);
  return ring_buffer__poll(impl_->misses_, 0);
}

void Sampler::WakeMissReader() { Wake(impl_->miss_reader_wake_); }

void Sampler::ReturnRawBudget(uint64_t bytes) {
  if (bytes != 0)
    __atomic_fetch_add(&impl_->control_->raw_budget_bytes, static_cast<int64_t>(bytes),
                       __ATOMIC_RELAXED);
}

bool Sampler::FollowsWaits() const { return impl_->off_cpu_ != nullptr; }

absl::Status Sampler::ListWaiting(uint64_t due_ns, const TakeRecord& take) {
  impl_->control_->due_ns = due_ns;
  return impl_->off_cpu_ != nullptr ? impl_->off_cpu_->ListWaiting(take) : absl::OkStatus();
}

std::optional<uint64_t> Sampler::WaitsSince(uint32_t tid) const {
  return impl_->off_cpu_ != nullptr ? impl_->off_cpu_->WaitsSince(tid) : std::nullopt;
}

bool Sampler::FollowsThread(uint32_t tid) const {
  return impl_->off_cpu_ != nullptr && impl_->off_cpu_->Follows(tid);
}

const std::vector<std::string>& Sampler::warnings() const { return impl_->warnings_; }

counters Sampler::Counters() const {
  std::vector<counters> per_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
  const uint32_t zero = 0;
  counters sum = {};
  if (bpf_map_lookup_elem(bpf_map__fd(impl_->skeleton_->maps.counts), &zero, per_cpu.data()) != 0)
    return sum;
  for (const counters& one : per_cpu) {
    for (size_t i = 0; i < COUNT_COUNTERS; ++i) sum.value[i] += one.value[i];
    for (size_t i = 0; i < END_REASON_COUNT; ++i) sum.end[i] += one.end[i];
    for (size_t i = 0; i < MAX_CAPTURES; ++i) {
      sum.of_capture[i].produced += one.of_capture[i].produced;
      sum.of_capture[i].ring_full += one.of_capture[i].ring_full;
      sum.of_capture[i].scratch_busy += one.of_capture[i].scratch_busy;
      sum.of_capture[i].over_budget += one.of_capture[i].over_budget;
    }
  }
  return sum;
}

RowMemory& Sampler::row_memory() { return *impl_->rows_; }
RuntimeSet Sampler::left_out_runtimes() const { return impl_->left_out_; }

RuntimeMemory& Sampler::runtime_memory() { return *impl_->runtimes_; }
ContextMemory& Sampler::context_memory() { return *impl_->contexts_; }

uint64_t Sampler::MapBytes() const { return FixedMapBytes() + impl_->rows_->chunk_bytes(); }
uint64_t Sampler::FixedMapBytes() const { return impl_->fixed_map_bytes_; }

// All maps have their memory from the start on.
uint64_t Sampler::Impl::SumOfMaps() const {
  uint64_t sum = 0;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, skeleton_->obj) sum += stackray::MapBytes(bpf_map__fd(map));
  return sum;
}

std::vector<Sampler::ProgramCost> Sampler::ProgramCosts() const {
  std::vector<ProgramCost> costs;
  const auto add = [&costs](const std::string& name, int fd) {
    bpf_prog_info info = {};
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
      costs.push_back({name, info.run_time_ns, info.run_cnt, info.verified_insns});
  };
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, impl_->skeleton_->obj)
      add(bpf_program__name(program), bpf_program__fd(program));
  if (impl_->off_cpu_ != nullptr)
    for (const auto& [name, fd] : impl_->off_cpu_->programs()) add(name, fd);
  if (impl_->signals_ != nullptr)
    for (const auto& [name, fd] : impl_->signals_->programs()) add(name, fd);
  return costs;
}

}  // namespace stackray
