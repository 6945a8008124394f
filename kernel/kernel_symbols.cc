#include "kernel/kernel_symbols.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kernel/kernel_modules.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr size_t kMaxModulesFileBytes = 4 << 20;
constexpr uint64_t kLooseBit = uint64_t{1} << 63;  // In word1 of a key: not an image's number.
// Code without a file whose size nobody tells: up to the next symbol, at most this. Where the sizes
// of programs are known the rest are trampolines, of at most a page.
constexpr uint64_t kMaxLooseBytes = 64 << 10, kMaxTrampolineBytes = 4096;
constexpr uint64_t kUnknownTailBytes = 4096;  // Of the last symbol where _etext is not listed.
constexpr uint64_t kHealIntervalNs = 5'000'000'000;
constexpr uint64_t kModuleReadIntervalNs = 500'000'000;
constexpr uint64_t kLeastMissIntervalNs = 5'000'000'000;
constexpr uint64_t kMostMissIntervalNs = 300'000'000'000;

}  // namespace

absl::StatusOr<KernelSymbols> KernelSymbols::Load(KernelSymbolFiles files,
                                                  std::unique_ptr<CodeEvents> events) {
  KernelSymbols kernel;
  kernel.files_ = std::move(files);
  kernel.events_ = std::move(events);
  if (absl::Status status = kernel.Refresh(); !status.ok()) return status;
  return kernel;
}

uint64_t KernelSymbols::NowNs() const { return events_ ? events_->NowNs() : BootTimeNs(); }

absl::Status KernelSymbols::Refresh() {
  TakeEvents();
  const CodeHistory::ListTimes times = {
      .listed_ns = listed_ns_, .complete_ns = complete_ns_, .read_ns = NowNs()};
  ++readings_;
  ReadModules(times);
  const uint64_t last_module = modules_.last_number();
  absl::StatusOr<Kallsyms> symbols = ReadKallsyms(files_.kallsyms);
  if (!symbols.ok()) return symbols.status();
  // What is reported while the files are read is newer than they are, and stands.
  missed_ = false;
  TakeEvents();
  modules_.TableChanges(symbols_, last_module);
  symbols_ = *std::move(symbols);
  SetVmlinux();
  loose_.Reconcile(ListLoose(), times);
  listed_ns_ = times.read_ns;
  if (missed_) complete_ns_ = times.read_ns;
  return absl::OkStatus();
}

void KernelSymbols::ReadModules(const CodeHistory::ListTimes& times) {
  modules_.Update(ReadSmallFile(files_.modules, kMaxModulesFileBytes), files_.sys_module, times);
}

void KernelSymbols::SetVmlinux() {
  text_start_ = symbols_.text_start();
  uint64_t text_end = symbols_.text_end();
  if (text_end <= text_start_) {
    text_end = text_start_;
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (symbols_.module(i).empty()) text_end = symbols_.start(i) + kUnknownTailBytes;
  }
  text_bytes_ = text_end - text_start_;
  vmlinux_.start = kKernelLinkAddress;
  vmlinux_.limit = kKernelLinkAddress + text_bytes_;
  vmlinux_.path = "vmlinux";
  vmlinux_.gnu_build_id = ReadBuildIdFile(files_.kernel_notes);
}

// The symbols of no image, with the sizes that the kernel tells of BPF's.
std::vector<ListedCode> KernelSymbols::ListLoose() const {
  std::vector<ListedCode> listed;
  std::map<uint64_t, uint32_t> sizes;
  if (events_) sizes = events_->ProgramSizes();
  const uint64_t most = sizes.empty() ? kMaxLooseBytes : kMaxTrampolineBytes;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const std::string& module = symbols_.module(i);
    if (module.empty()) continue;
    const uint64_t start = symbols_.start(i);
    if (modules_.Has(module, start)) continue;
    const auto known = sizes.find(start);
    const uint64_t gap = std::min(symbols_.end(i), modules_.NextStart(start)) - start;
    listed.push_back(
        {start, std::min(gap, known == sizes.end() ? most : known->second), symbols_.name(i)});
  }
  return listed;
}

void KernelSymbols::TakeEvents() {
  if (!events_) return;
  const uint64_t now_ns = NowNs();
  bool modules_changed = false;
  const bool intact = events_->Drain([&](const CodeEvent& event) {
    switch (event.kind) {
      case CodeEvent::Kind::kBegin:
        loose_.Begin(event.start, event.size_bytes, event.name, event.time_ns);
        break;
      case CodeEvent::Kind::kEnd: loose_.End(event.start, event.name, event.time_ns); break;
      case CodeEvent::Kind::kModuleRemoved:
        modules_.Remove(event.name, event.time_ns);
        [[fallthrough]];
      case CodeEvent::Kind::kModuleAdded: modules_changed = true; break;
    }
  });
  // A module that is new was announced after the last look.
  if (modules_changed)
    ReadModules({.listed_ns = followed_ns_,
                 .complete_ns = followed_ns_,
                 .read_ns = NowNs() + 1});  // Later than every report.
  if (modules_changed || !intact) miss_interval_ns_ = next_miss_read_ns_ = 0;
  followed_ns_ = now_ns;
  missed_ = missed_ || !intact;
  if (!missed_) complete_ns_ = now_ns;
}

void KernelSymbols::Follow() {
  TakeEvents();
  if (!missed_ || NowNs() < next_heal_ns_) return;
  next_heal_ns_ = NowNs() + kHealIntervalNs;
  (void)Refresh();  // Tried again after the interval.
}

void KernelSymbols::FollowCpus(std::span<const int> online) {
  if (events_) events_->FollowCpus(online);
}

std::optional<KernelPlace> KernelSymbols::Locate(uint64_t runtime_address, uint64_t time_ns) {
  KernelPlace place;
  if (IsVmlinux(runtime_address)) {
    place.address = kKernelLinkAddress + (runtime_address - text_start_);
    place.key = FrameKey::Make(FrameType::kKernel, 0, place.address, kVmlinuxImage);
    return place;
  }
  if (time_ns > followed_ns_) Follow();
  if (const CodePiece* piece = loose_.Find(runtime_address, time_ns)) {
    place.image = kNoKernelImage;
    place.key = FrameKey::Make(FrameType::kKernel, 0, runtime_address, kLooseBit | piece->number);
    return place;
  }
  const std::optional<ModuleHistory::Place> module = modules_.Find(runtime_address, time_ns);
  if (!module) return std::nullopt;
  place.image = module->image;
  place.address = module->address;
  place.key = FrameKey::Make(FrameType::kKernel, 0, place.address, place.image);
  return place;
}

std::optional<KernelPlace> KernelSymbols::LocateByReading(uint64_t runtime_address,
                                                          uint64_t time_ns) {
  const uint64_t now_ns = NowNs();
  if (now_ns < next_miss_read_ns_) return std::nullopt;
  std::optional<KernelPlace> place;
  if (Refresh().ok()) place = Locate(runtime_address, time_ns);
  miss_interval_ns_ =
      place ? kLeastMissIntervalNs
            : std::clamp(2 * miss_interval_ns_, kLeastMissIntervalNs, kMostMissIntervalNs);
  next_miss_read_ns_ = now_ns + miss_interval_ns_;
  return place;
}

std::string KernelSymbols::NameOf(uint64_t runtime_address, uint64_t time_ns) {
  if (IsVmlinux(runtime_address)) {
    const std::optional<size_t> index = symbols_.IndexAt(runtime_address);
    return index && symbols_.module(*index).empty() ? symbols_.name(*index) : std::string();
  }
  if (time_ns > followed_ns_) Follow();
  if (const CodePiece* piece = loose_.Find(runtime_address, time_ns)) return piece->name;
  ModuleHistory::Name name = modules_.NameOf(runtime_address, time_ns, symbols_);
  if (name.needs_reading && NowNs() >= next_module_read_ns_) {
    next_module_read_ns_ = NowNs() + kModuleReadIntervalNs;
    if (Refresh().ok()) name = modules_.NameOf(runtime_address, time_ns, symbols_);
  }
  return name.name;
}

std::optional<KernelCode> KernelSymbols::Find(uint64_t runtime_address, uint64_t time_ns) {
  const std::optional<KernelPlace> place = Locate(runtime_address, time_ns);
  if (!place) return std::nullopt;
  return KernelCode{*place, NameOf(runtime_address, time_ns)};
}

void KernelSymbols::DropEndedBefore(uint64_t time_ns) {
  loose_.DropEndedBefore(time_ns);
  modules_.DropEndedBefore(time_ns);
}

MappingInfo KernelSymbols::Mapping(uint32_t image) const {
  return image == kVmlinuxImage ? vmlinux_ : modules_.Mapping(image);
}

size_t KernelSymbols::bytes() const { return symbols_.bytes() + loose_.bytes() + modules_.bytes(); }

}  // namespace stackray
