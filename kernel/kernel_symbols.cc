#include "kernel/kernel_symbols.h"

#include <algorithm>
#include <utility>

#include "kernel/kernel_modules.h"

namespace stackray {
namespace {

constexpr size_t kMaxModulesFileBytes = 4 << 20;
constexpr uint64_t kLooseBit = uint64_t{1} << 63;  // In word1 of a key: not an image's number.
// Code without a file has no end that anybody tells: up to the next symbol, at most this.
constexpr uint64_t kMaxLooseBytes = 64 << 10;
constexpr uint64_t kUnknownTailBytes = 4096;  // Of the last symbol where _etext is not listed.

}  // namespace

absl::StatusOr<KernelSymbols> KernelSymbols::Load(KernelSymbolFiles files) {
  KernelSymbols kernel;
  kernel.files_ = std::move(files);
  if (absl::Status status = kernel.Refresh(); !status.ok()) return status;
  return kernel;
}

absl::Status KernelSymbols::Refresh() {
  absl::StatusOr<Kallsyms> symbols = ReadKallsyms(files_.kallsyms);
  if (!symbols.ok()) return symbols.status();
  const Kallsyms before = std::exchange(symbols_, *std::move(symbols));
  const std::vector<Loose> loose_before = std::exchange(loose_, {});
  SetImages();
  SetLoose(&before, loose_before);
  return absl::OkStatus();
}

void KernelSymbols::SetImages() {
  uint64_t text_end = symbols_.text_end();
  if (text_end <= symbols_.text_start()) {
    text_end = symbols_.text_start();
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (symbols_.module(i).empty()) text_end = symbols_.start(i) + kUnknownTailBytes;
  }
  MappingInfo vmlinux;
  vmlinux.start = kKernelLinkAddress;
  vmlinux.limit = kKernelLinkAddress + (text_end - symbols_.text_start());
  vmlinux.path = "vmlinux";
  vmlinux.gnu_build_id = ReadBuildIdFile(files_.kernel_notes);
  if (images_.empty()) images_.emplace_back();
  images_[kVmlinuxImage] = std::move(vmlinux);

  ranges_.clear();
  ranges_.push_back({symbols_.text_start(), text_end, kVmlinuxImage});
  for (const KernelModule& module :
       ParseModules(ReadSmallFile(files_.modules, kMaxModulesFileBytes))) {
    MappingInfo mapping;
    mapping.limit = module.size_bytes;
    mapping.path = module.name;
    mapping.gnu_build_id = ReadModuleBuildId(files_.sys_module, module.name);
    ranges_.push_back(
        {module.start, module.start + module.size_bytes, ImageOf(std::move(mapping))});
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  // Since 6.4 a module's size counts data that lies elsewhere: its text ends where the next one's
  // starts.
  for (size_t i = 0; i + 1 < ranges_.size(); ++i)
    ranges_[i].end = std::min(ranges_[i].end, ranges_[i + 1].start);
}

uint32_t KernelSymbols::ImageOf(MappingInfo mapping) {
  const auto found = std::find(images_.begin() + 1, images_.end(), mapping);
  if (found != images_.end()) return static_cast<uint32_t>(found - images_.begin());
  images_.push_back(std::move(mapping));
  return static_cast<uint32_t>(images_.size() - 1);
}

// Numbers every symbol outside of the images; one that was there before keeps its number.
void KernelSymbols::SetLoose(const Kallsyms* before, const std::vector<Loose>& loose_before) {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_.module(i).empty()) continue;
    const uint64_t start = symbols_.start(i);
    const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), start,
                                        [](uint64_t a, const Range& r) { return a < r.start; });
    if (range != ranges_.begin() && start < std::prev(range)->end) continue;
    uint64_t number = 0;
    const std::optional<size_t> old = before->IndexAt(start);
    if (old && before->start(*old) == start && before->name(*old) == symbols_.name(i)) {
      const auto same =
          std::lower_bound(loose_before.begin(), loose_before.end(), *old,
                           [](const Loose& l, size_t index) { return l.index < index; });
      if (same != loose_before.end() && same->index == *old) number = same->number;
    }
    loose_.push_back({i, number != 0 ? number : next_loose_++});
  }
}

std::optional<KernelSymbols::Loose> KernelSymbols::LooseAt(uint64_t runtime_address) const {
  const std::optional<size_t> index = symbols_.IndexAt(runtime_address);
  if (!index || runtime_address - symbols_.start(*index) >= kMaxLooseBytes) return std::nullopt;
  const auto found = std::lower_bound(loose_.begin(), loose_.end(), *index,
                                      [](const Loose& l, size_t i) { return l.index < i; });
  if (found == loose_.end() || found->index != *index) return std::nullopt;
  return *found;
}

std::optional<KernelPlace> KernelSymbols::Locate(uint64_t runtime_address) const {
  KernelPlace place;
  const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), runtime_address,
                                     [](uint64_t a, const Range& r) { return a < r.start; });
  if (next != ranges_.begin() && runtime_address < std::prev(next)->end) {
    const Range& range = *std::prev(next);
    place.image = range.image;
    place.address = images_[range.image].start + (runtime_address - range.start);
    place.key = FrameKey::Make(FrameType::kKernel, 0, place.address, place.image);
    return place;
  }
  const std::optional<Loose> loose = LooseAt(runtime_address);
  if (!loose) return std::nullopt;
  place.image = kNoKernelImage;
  place.key = FrameKey::Make(FrameType::kKernel, 0, runtime_address, kLooseBit | loose->number);
  return place;
}

std::string KernelSymbols::NameOf(uint64_t runtime_address) const {
  const std::optional<KernelPlace> place = Locate(runtime_address);
  const std::optional<size_t> index = symbols_.IndexAt(runtime_address);
  if (!place || !index) return {};
  if (place->image == kNoKernelImage) return symbols_.name(*index);
  // A symbol names nothing outside of its own image.
  const std::string& module = symbols_.module(*index);
  const bool own =
      place->image == kVmlinuxImage ? module.empty() : module == images_[place->image].path;
  return own ? symbols_.name(*index) : std::string();
}

std::optional<KernelCode> KernelSymbols::Find(uint64_t runtime_address) const {
  const std::optional<KernelPlace> place = Locate(runtime_address);
  if (!place) return std::nullopt;
  return KernelCode{*place, NameOf(runtime_address)};
}

MappingInfo KernelSymbols::Mapping(uint32_t image) const {
  return image < images_.size() ? images_[image] : MappingInfo{};
}

size_t KernelSymbols::bytes() const {
  size_t total = symbols_.bytes() + ranges_.capacity() * sizeof(Range) +
                 loose_.capacity() * sizeof(Loose) + images_.capacity() * sizeof(MappingInfo);
  for (const MappingInfo& image : images_) total += image.path.size() + image.gnu_build_id.size();
  return total;
}

}  // namespace stackray
