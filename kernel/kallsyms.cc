#include "kernel/kallsyms.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <utility>

#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMaxLineBytes = 4096;  // Names are at most 512 bytes (KSYM_NAME_LEN).
constexpr size_t kMaxSymbols = 4 << 20;
constexpr size_t kMaxNameBytes = 256 << 20;
constexpr size_t kMaxModules = 65535;
constexpr uint32_t kNameMask = (1u << 30) - 1;
constexpr uint32_t kPrefixShift = 30;
// objtool's and clang's names for the padding before a function.
constexpr std::array<std::string_view, 3> kPrefixes = {"", "__pfx_", "__cfi_"};

bool IsTextType(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

std::string_view NameAt(const std::string& names, uint32_t offset) {
  return names.c_str() + offset;
}

// Number of the prefix by which `name` differs from `rest`, or 0.
uint32_t PrefixBefore(std::string_view name, std::string_view rest) {
  for (uint32_t i = 1; i < kPrefixes.size(); ++i)
    if (name.starts_with(kPrefixes[i]) && name.substr(kPrefixes[i].size()) == rest) return i;
  return 0;
}

}  // namespace

void Kallsyms::Builder::Add(std::string_view piece) {
  while (!piece.empty()) {
    const size_t newline = piece.find('\n');
    const std::string_view part = piece.substr(0, newline);
    const bool fits = partial_line_.size() + part.size() <= kMaxLineBytes;
    if (newline == std::string_view::npos) {
      // What is too long stays too long until its line ends.
      partial_line_.append(fits ? part : part.substr(0, kMaxLineBytes + 1));
      if (partial_line_.size() > kMaxLineBytes) partial_line_.resize(kMaxLineBytes + 1, ' ');
      return;
    }
    if (fits && partial_line_.empty()) {
      AddLine(part);
    } else if (fits) {
      partial_line_.append(part);
      AddLine(partial_line_);
    }
    partial_line_.clear();
    piece.remove_prefix(newline + 1);
  }
}

// "ffffffff81000000 T name" or "ffffffffc0000000 t name\t[module]".
void Kallsyms::Builder::AddLine(std::string_view line) {
  uint64_t address = 0;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  if (error != std::errc()) return;
  line.remove_prefix(static_cast<size_t>(rest - line.data()));
  if (line.size() < 4 || line[0] != ' ' || line[2] != ' ') return;
  saw_line_ = true;
  if (address == 0) return;
  const char type = line[1];
  line.remove_prefix(3);
  const size_t tab = line.find('\t');
  const std::string_view name = line.substr(0, tab);
  if (name.empty() || name.find('\0') != std::string_view::npos) return;
  std::string_view module;
  if (tab != std::string_view::npos) module = line.substr(tab + 1);
  if (module.size() >= 2 && module.front() == '[' && module.back() == ']')
    module = module.substr(1, module.size() - 2);

  saw_address_ = true;
  if (module.empty() && name == "_text") text_start_ = address;
  if (module.empty() && name == "_etext") {
    text_end_ = address;
    return;  // The end of code is not code.
  }
  if (!IsTextType(type) || symbols_.size() >= kMaxSymbols || names_.size() >= kMaxNameBytes) return;
  const bool is_marker = name == "_text" || name == "_stext" || name == "__pi__text";
  symbols_.push_back(
      {address, static_cast<uint32_t>(names_.size()), ModuleIndex(module), is_marker});
  names_.append(name);
  names_ += '\0';
}

uint16_t Kallsyms::Builder::ModuleIndex(std::string_view name) {
  if (name.empty()) return 0;
  if (name == modules_.back())
    return static_cast<uint16_t>(modules_.size() - 1);  // The usual case.
  const auto found = std::find(modules_.begin() + 1, modules_.end(), name);
  if (found != modules_.end()) return static_cast<uint16_t>(found - modules_.begin());
  if (modules_.size() >= kMaxModules) return 0;
  modules_.emplace_back(name);
  return static_cast<uint16_t>(modules_.size() - 1);
}

absl::StatusOr<Kallsyms> Kallsyms::Builder::Finish() && {
  if (!partial_line_.empty() && partial_line_.size() <= kMaxLineBytes) AddLine(partial_line_);
  if (!saw_line_) return absl::DataLossError("kallsyms has no symbols");
  if (!saw_address_)
    return absl::PermissionDeniedError(
        "the kernel hides its addresses: run with CAP_SYSLOG, and set kernel.kptr_restrict to 0 or "
        "1");
  if (text_start_ == 0) return absl::DataLossError("kallsyms does not list _text");
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::pair(a.address, a.is_marker) < std::pair(b.address, b.is_marker);
  });
  symbols_.erase(
      std::unique(symbols_.begin(), symbols_.end(),
                  [](const Symbol& a, const Symbol& b) { return a.address == b.address; }),
      symbols_.end());

  Kallsyms table;
  table.modules_ = std::move(modules_);
  table.text_start_ = text_start_;
  table.text_end_ = text_end_;
  table.entries_.reserve(symbols_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const std::string_view name = NameAt(names_, symbols_[i].name);
    const uint32_t prefix =
        i + 1 < symbols_.size() ? PrefixBefore(name, NameAt(names_, symbols_[i + 1].name)) : 0;
    table.Append(symbols_[i], static_cast<uint32_t>(table.names_.size()) | prefix << kPrefixShift);
    // The next symbol writes the shared bytes, unless it shares those of the one behind it in turn.
    if (prefix != 0 && i + 2 < symbols_.size() &&
        PrefixBefore(NameAt(names_, symbols_[i + 1].name), NameAt(names_, symbols_[i + 2].name)) !=
            0)
      table.entries_.back().name &= kNameMask;
    if (table.entries_.back().name >> kPrefixShift != 0) continue;
    table.names_.append(name);
    table.names_ += '\0';
  }
  table.names_.shrink_to_fit();
  return table;
}

void Kallsyms::Append(const Builder::Symbol& symbol, uint32_t name) {
  const uint32_t index = static_cast<uint32_t>(entries_.size());
  const uint64_t high = symbol.address >> 32;
  if (regions_.empty() || regions_.back().high != high) regions_.push_back({high, index});
  if (runs_.empty() || runs_.back().module != symbol.module)
    runs_.push_back({index, symbol.module});
  entries_.push_back({static_cast<uint32_t>(symbol.address), name});
}

std::optional<size_t> Kallsyms::IndexAt(uint64_t address) const {
  const auto region =
      std::upper_bound(regions_.begin(), regions_.end(), address >> 32,
                       [](uint64_t high, const Region& r) { return high < r.high; });
  if (region == regions_.begin()) return std::nullopt;
  const size_t last = region == regions_.end() ? entries_.size() : region->first;
  if (std::prev(region)->high != address >> 32) return last - 1;
  const auto begin = entries_.begin() + std::prev(region)->first;
  const auto entry = std::upper_bound(begin, entries_.begin() + static_cast<ptrdiff_t>(last),
                                      static_cast<uint32_t>(address),
                                      [](uint32_t low, const Entry& e) { return low < e.low; });
  if (entry == entries_.begin()) return std::nullopt;
  return static_cast<size_t>(entry - entries_.begin()) - 1;
}

uint64_t Kallsyms::start(size_t index) const {
  const auto region = std::upper_bound(regions_.begin(), regions_.end(), index,
                                       [](size_t i, const Region& r) { return i < r.first; });
  return std::prev(region)->high << 32 | entries_[index].low;
}

uint64_t Kallsyms::end(size_t index) const {
  return index + 1 < entries_.size() ? start(index + 1) : std::numeric_limits<uint64_t>::max();
}

std::string Kallsyms::name(size_t index) const {
  const uint32_t name = entries_[index].name;
  std::string text(kPrefixes[name >> kPrefixShift]);
  text += NameAt(names_, name & kNameMask);
  return text;
}

const std::string& Kallsyms::module(size_t index) const {
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), index,
                                    [](size_t i, const ModuleRun& r) { return i < r.first; });
  return modules_[std::prev(run)->module];
}

size_t Kallsyms::bytes() const {
  return sizeof(*this) + entries_.capacity() * sizeof(Entry) +
         regions_.capacity() * sizeof(Region) + runs_.capacity() * sizeof(ModuleRun) +
         modules_.capacity() * sizeof(std::string) + names_.capacity();
}

absl::StatusOr<Kallsyms> ReadKallsyms(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::NotFoundError("cannot open " + path);
  Kallsyms::Builder builder;
  std::vector<char> buffer(64 << 10);
  while (true) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError("cannot read " + path);
    if (n == 0) return std::move(builder).Finish();
    builder.Add(std::string_view(buffer.data(), static_cast<size_t>(n)));
  }
}

}  // namespace stackray
