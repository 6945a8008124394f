#include "interpreters/jit/jit_code.h"

#include <algorithm>
#include <atomic>

namespace stackray {
namespace {

// Of the map's node, the place in the order, and what the allocator adds.
constexpr size_t kEntryOverheadBytes = 112;

uint64_t NextSerial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

SourceLine JitFunction::LineAt(uint64_t address) const {
  SourceLine found{.function = name};
  const auto behind = std::ranges::upper_bound(lines, address, {}, &JitLine::address);
  if (behind == lines.begin()) return found;
  const JitLine& line = *std::prev(behind);
  if (line.file < files.size()) found.file = files[line.file];
  found.line = std::max<int64_t>(line.line, 0);
  return found;
}

size_t JitFunction::bytes() const {
  size_t sum = sizeof(*this) + kEntryOverheadBytes + name.capacity() +
               lines.capacity() * sizeof(JitLine) + files.capacity() * sizeof(std::string);
  for (const std::string& file : files) sum += file.capacity();
  return sum;
}

JitCode::Functions::iterator JitCode::Erase(Functions::iterator function) {
  bytes_ -= function->second.bytes();
  return functions_.erase(function);
}

void JitCode::EraseOverlapping(uint64_t start, uint64_t end) {
  auto at = functions_.lower_bound(start);
  if (at != functions_.begin() && std::prev(at)->second.Contains(start)) --at;
  while (at != functions_.end() && at->first < end) at = Erase(at);
}

// What was told first goes first; entries that are not there any more cost nothing but their place.
void JitCode::KeepLimit() {
  while (bytes_ > limit_bytes_ && !order_.empty()) {
    const auto [start, serial] = order_.front();
    order_.pop_front();
    const auto found = functions_.find(start);
    if (found == functions_.end() || found->second.serial != serial) continue;
    Erase(found);
    ++forgotten_;
  }
  // Places of entries that were replaced.
  if (order_.size() > 2 * functions_.size() + 1024)
    std::erase_if(order_, [this](const auto& place) {
      const auto found = functions_.find(place.first);
      return found == functions_.end() || found->second.serial != place.second;
    });
}

bool JitCode::Put(JitFunction function) {
  const uint64_t start = function.start, bytes = function.size_bytes;
  if (start == 0 || start >= kUserEnd || bytes == 0 || bytes > kMaxFunctionBytes ||
      bytes > kUserEnd - start)
    return false;
  if (function.name.size() > kMaxJitNameBytes) function.name.resize(kMaxJitNameBytes);
  function.serial = NextSerial();
  EraseOverlapping(start, start + bytes);
  bytes_ += function.bytes();
  order_.emplace_back(start, function.serial);
  functions_.emplace(start, std::move(function));
  KeepLimit();
  return true;
}

bool JitCode::Move(uint64_t from, uint64_t to) {
  const auto found = functions_.find(from);
  if (found == functions_.end()) return false;
  JitFunction moved = std::move(found->second);
  bytes_ -= moved.bytes();
  functions_.erase(found);
  // A line before the function would be one of no address of it.
  for (JitLine& line : moved.lines) line.address += to - from;
  moved.start = to;
  return Put(std::move(moved));
}

void JitCode::Remove(uint64_t start) {
  if (const auto found = functions_.find(start); found != functions_.end()) Erase(found);
}

void JitCode::Clear() {
  functions_.clear();
  order_.clear();
  bytes_ = 0;
}

const JitFunction* JitCode::Find(uint64_t address) const {
  const auto behind = functions_.upper_bound(address);
  if (behind == functions_.begin()) return nullptr;
  const JitFunction& function = std::prev(behind)->second;
  return function.Contains(address) ? &function : nullptr;
}

}  // namespace stackray
