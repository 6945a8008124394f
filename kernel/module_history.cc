#include "kernel/module_history.h"

#include <algorithm>
#include <utility>

#include "kernel/kernel_modules.h"

namespace stackray {
namespace {

constexpr size_t kMaxImagesWithoutBuildId = 4096;  // Beyond it equal names share an image.

}  // namespace

void ModuleHistory::Update(std::string_view proc_modules, const std::string& sys_module,
                           const CodeHistory::ListTimes& times) {
  std::vector<ListedCode> listed;
  for (KernelModule& module : ParseModules(proc_modules)) {
    // Since 6.4 a module's size counts data that lies elsewhere: its text ends where the next one's
    // starts.
    if (!listed.empty())
      listed.back().size_bytes =
          std::min(listed.back().size_bytes, module.start - listed.back().start);
    listed.push_back({module.start, module.size_bytes, std::move(module.name)});
  }
  pieces_.Reconcile(listed, times);
  for (const auto& [start, piece] : pieces_.live_pieces()) {
    if (facts_.contains(piece.number)) continue;
    MappingInfo mapping;
    mapping.limit = piece.end - piece.start;
    mapping.path = piece.name;
    mapping.gnu_build_id = ReadModuleBuildId(sys_module, piece.name);
    facts_[piece.number].image = ImageOf(std::move(mapping));
  }
}

uint32_t ModuleHistory::ImageOf(MappingInfo mapping) {
  const bool can_share =
      !mapping.gnu_build_id.empty() || images_.size() >= kMaxImagesWithoutBuildId;
  const auto found = can_share ? std::find(images_.begin(), images_.end(), mapping) : images_.end();
  if (found != images_.end()) return static_cast<uint32_t>(found - images_.begin()) + 1;
  images_.push_back(std::move(mapping));
  return static_cast<uint32_t>(images_.size());
}

void ModuleHistory::Remove(std::string_view name, uint64_t time_ns) {
  if (const CodePiece* piece = pieces_.FindLive(name)) pieces_.End(piece->start, name, time_ns);
}

ModuleHistory::Names ModuleHistory::CopyNames(const CodePiece& piece, const Kallsyms& table) {
  Names names;
  std::optional<size_t> index = table.IndexAt(piece.start);
  size_t i = index.value_or(0);
  if (index && table.start(i) < piece.start) ++i;
  for (; i < table.size() && table.start(i) < piece.end; ++i)
    if (table.module(i) == piece.name)
      names.emplace_back(table.start(i) - piece.start, table.name(i));
  return names;
}

void ModuleHistory::TableChanges(const Kallsyms& before, uint64_t last_number) {
  for (const auto& [start, piece] : pieces_.ended_pieces()) {
    Facts& facts = facts_[piece.number];
    if (!facts.in_table) continue;
    facts.names = CopyNames(piece, before);
    facts.in_table = false;
  }
  for (const auto& [start, piece] : pieces_.live_pieces())
    facts_[piece.number].in_table = piece.number <= last_number;
}

bool ModuleHistory::Has(std::string_view name, uint64_t address) const {
  const CodePiece* piece = pieces_.Find(address, kStillThere);
  return piece != nullptr && piece->name == name;
}

uint64_t ModuleHistory::NextStart(uint64_t address) const {
  const auto next = pieces_.live_pieces().upper_bound(address);
  return next == pieces_.live_pieces().end() ? ~uint64_t{0} : next->first;
}

std::optional<ModuleHistory::Place> ModuleHistory::Find(uint64_t address, uint64_t time_ns) const {
  const CodePiece* piece = pieces_.Find(address, time_ns);
  if (piece == nullptr) return std::nullopt;
  return Place{facts_.at(piece->number).image, address - piece->start};
}

ModuleHistory::Name ModuleHistory::NameOf(uint64_t address, uint64_t time_ns,
                                          const Kallsyms& table) const {
  const CodePiece* piece = pieces_.Find(address, time_ns);
  if (piece == nullptr) return {};
  const Facts& facts = facts_.at(piece->number);
  if (facts.in_table) {
    // A symbol names nothing outside of its own module.
    const std::optional<size_t> index = table.IndexAt(address);
    const bool own =
        index && table.module(*index) == piece->name && table.start(*index) >= piece->start;
    return {.name = own ? table.name(*index) : std::string()};
  }
  if (piece->until_ns == kStillThere) return {.needs_reading = true};
  const auto next =
      std::upper_bound(facts.names.begin(), facts.names.end(), address - piece->start,
                       [](uint64_t offset, const auto& entry) { return offset < entry.first; });
  return {.name = next == facts.names.begin() ? std::string() : std::prev(next)->second};
}

MappingInfo ModuleHistory::Mapping(uint32_t image) const {
  return image > 0 && image <= images_.size() ? images_[image - 1] : MappingInfo{};
}

void ModuleHistory::DropEndedBefore(uint64_t time_ns) {
  if (pieces_.ended_pieces().empty()) return;
  pieces_.DropEndedBefore(time_ns);
  std::map<uint64_t, Facts> kept;
  const auto keep = [&](const CodePiece& piece) {
    kept[piece.number] = std::move(facts_[piece.number]);
  };
  for (const auto& [start, piece] : pieces_.live_pieces()) keep(piece);
  for (const auto& [start, piece] : pieces_.ended_pieces()) keep(piece);
  facts_ = std::move(kept);
}

size_t ModuleHistory::bytes() const {
  size_t total = pieces_.bytes() + images_.capacity() * sizeof(MappingInfo);
  for (const MappingInfo& image : images_) total += image.path.size() + image.gnu_build_id.size();
  for (const auto& [number, facts] : facts_) {
    total += sizeof(Facts) + facts.names.capacity() * sizeof(Names::value_type);
    for (const auto& [offset, name] : facts.names) total += name.capacity();
  }
  return total;
}

}  // namespace stackray
