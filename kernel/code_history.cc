#include "kernel/code_history.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kLastTime = kStillThere - 1;  // Of an event: what has ended is not still there.
constexpr size_t kPieceBytes = 160;  // A tree's node with a piece in it, and its place in a queue.

bool Covers(const CodePiece& piece, uint64_t address) {
  return piece.start <= address && address < piece.end;
}

// Whether a piece may be meant at that time; see the header about the grace.
bool IsAt(const CodePiece& piece, uint64_t time_ns) {
  if (piece.from_ns > time_ns) return false;
  return piece.until_ns == kStillThere || time_ns < piece.until_ns ||
         time_ns - piece.until_ns <= kCodeGraceNs;
}

}  // namespace

void CodeHistory::Begin(uint64_t start, uint64_t size_bytes, std::string_view name,
                        uint64_t time_ns) {
  if (size_bytes == 0 || size_bytes > std::numeric_limits<uint64_t>::max() - start) return;
  const auto same = live_.find(start);
  if (same != live_.end() && same->second.name == name && same->second.end == start + size_bytes)
    return;
  EndOverlapping(start, start + size_bytes, time_ns);
  if (live_.size() >= kMaxLivePieces) {
    ++refused_;
    return;
  }
  name_bytes_ += name.size();
  live_.emplace(start, CodePiece{.start = start,
                                 .end = start + size_bytes,
                                 .from_ns = time_ns,
                                 .number = next_number_++,
                                 .name = std::string(name)});
}

void CodeHistory::End(uint64_t start, std::string_view name, uint64_t time_ns) {
  const auto piece = live_.find(start);
  if (piece != live_.end() && piece->second.name == name) EndAt(piece, time_ns);
}

void CodeHistory::EndOverlapping(uint64_t start, uint64_t end, uint64_t time_ns) {
  auto piece = live_.upper_bound(start);
  if (piece != live_.begin() && std::prev(piece)->second.end > start) --piece;
  while (piece != live_.end() && piece->second.start < end) piece = EndAt(piece, time_ns);
}

CodeHistory::Live::iterator CodeHistory::EndAt(Live::iterator piece, uint64_t time_ns) {
  const auto next = std::next(piece);
  CodePiece& ended = piece->second;
  ended.until_ns = std::min(std::max(time_ns, ended.from_ns), kLastTime);
  longest_ended_ = std::max(longest_ended_, ended.end - ended.start);
  by_end_.push_back(ended_.emplace(ended.start, std::move(ended)));
  live_.erase(piece);
  if (ended_.size() > kMaxEndedPieces) {
    ++dropped_early_;
    DropOldest();
  }
  return next;
}

void CodeHistory::DropOldest() {
  const Ended::iterator oldest = by_end_.front();
  by_end_.pop_front();
  name_bytes_ -= oldest->second.name.size();
  ended_.erase(oldest);
  if (ended_.empty()) longest_ended_ = 0;
}

void CodeHistory::DropEndedBefore(uint64_t time_ns) {
  while (!by_end_.empty()) {
    const uint64_t until_ns = by_end_.front()->second.until_ns;
    if (until_ns >= time_ns || time_ns - until_ns <= kCodeGraceNs) return;
    DropOldest();
  }
}

// Whether reports say that this is gone already, or that something newer is there.
bool CodeHistory::IsOlderThanReports(const ListedCode& code, uint64_t read_ns) const {
  const auto [first, last] = ended_.equal_range(code.start);
  const bool ended = std::any_of(first, last, [&](const auto& entry) {
    return entry.second.until_ns >= read_ns && entry.second.name == code.name;
  });
  if (ended) return true;
  auto over = live_.lower_bound(code.start);
  if (over != live_.begin() && std::prev(over)->second.end > code.start) --over;
  return over != live_.end() && over->second.start < code.start + code.size_bytes &&
         over->second.from_ns >= read_ns;
}

// Not before the end of what was there before it. When a piece ended that just is not listed any
// more, nobody knows: somewhere behind the last report.
uint64_t CodeHistory::EarliestBegin(const ListedCode& code, const ListTimes& times) const {
  uint64_t from_ns = times.listed_ns;
  for (auto it = ended_.lower_bound(code.start + code.size_bytes); it != ended_.begin();) {
    --it;
    if (it->first <= code.start && code.start - it->first >= longest_ended_) break;
    const CodePiece& old = it->second;
    if (old.end <= code.start) continue;
    const uint64_t until_ns = old.until_ns == times.read_ns ? times.complete_ns : old.until_ns;
    from_ns = std::max(from_ns, std::min(until_ns, times.read_ns));
  }
  return from_ns;
}

void CodeHistory::Reconcile(std::span<const ListedCode> listed, const ListTimes& times) {
  std::set<std::pair<uint64_t, std::string_view>> there;
  for (const ListedCode& code : listed) there.emplace(code.start, code.name);
  for (auto it = live_.begin(); it != live_.end();) {
    const CodePiece& piece = it->second;
    const bool gone = piece.from_ns < times.read_ns && !there.contains({piece.start, piece.name});
    it = gone ? EndAt(it, times.read_ns) : std::next(it);
  }
  std::vector<const ListedCode*> added;
  for (const ListedCode& code : listed) {
    if (code.size_bytes == 0 || code.start + code.size_bytes < code.start) continue;
    const auto same = live_.find(code.start);
    if (same == live_.end() || same->second.name != code.name) {
      added.push_back(&code);
    } else {
      same->second.end = std::min(same->second.end, code.start + code.size_bytes);
    }
  }
  for (const ListedCode* code : added)
    if (!IsOlderThanReports(*code, times.read_ns))
      Begin(code->start, code->size_bytes, code->name, EarliestBegin(*code, times));
}

const CodePiece* CodeHistory::Find(uint64_t address, uint64_t time_ns) const {
  const CodePiece* best = nullptr;
  auto piece = live_.upper_bound(address);
  if (piece != live_.begin() && Covers((--piece)->second, address) &&
      piece->second.from_ns <= time_ns)
    best = &piece->second;
  for (auto it = ended_.upper_bound(address); it != ended_.begin();) {
    --it;
    if (address - it->first >= longest_ended_) break;
    const CodePiece& old = it->second;
    if (!Covers(old, address) || !IsAt(old, time_ns)) continue;
    // A piece whose own time it is comes before one that only lingers.
    const auto rank = [&](const CodePiece& p) {
      return std::tuple(p.until_ns == kStillThere || time_ns < p.until_ns, p.from_ns, p.number);
    };
    if (best == nullptr || rank(old) > rank(*best)) best = &old;
  }
  return best;
}

const CodePiece* CodeHistory::FindLive(std::string_view name) const {
  for (const auto& [start, piece] : live_)
    if (piece.name == name) return &piece;
  return nullptr;
}

size_t CodeHistory::bytes() const {
  return (live_.size() + ended_.size()) * kPieceBytes + name_bytes_;
}

}  // namespace stackray
