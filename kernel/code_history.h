// Which code lay where in the kernel, and when: pieces of address space that come, go and are used
// again, as BPF programs, trampolines and modules do.
//
// A sample is resolved by what was there at its own time, however late it is read. What is reported
// about a piece may be off by a little: an end is reported before the last CPU has left the code
// (its memory is reused only after all have), so an ended piece answers on until something else is
// there, for at most kCodeGraceNs.
//
// Memory:  about 200 bytes a piece; at most kMaxLivePieces and kMaxEndedPieces. When there are
//          more, the oldest ended ones go first, and new ones are refused; both are counted.
// Threads: one.
#ifndef STACKRAY_KERNEL_CODE_HISTORY_H_
#define STACKRAY_KERNEL_CODE_HISTORY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace stackray {

inline constexpr uint64_t kStillThere = ~uint64_t{0};  // As an end, and as a time: now.
inline constexpr uint64_t kCodeGraceNs = 1'000'000'000;
inline constexpr size_t kMaxLivePieces = 1 << 16;
inline constexpr size_t kMaxEndedPieces = 1 << 13;

struct CodePiece {
  uint64_t start = 0, end = 0;                   // Addresses; start < end.
  uint64_t from_ns = 0, until_ns = kStillThere;  // CLOCK_BOOTTIME.
  uint64_t number = 0;                           // Never 0, never used again.
  std::string name;
};

// A piece as a list of what is there now has it.
struct ListedCode {
  uint64_t start = 0, size_bytes = 0;
  std::string name;
};

class CodeHistory {
 public:
  // Code appeared. What is still there at those addresses ends at the same time; the same name at
  // the same start is the same piece. Sizes of 0 and ranges that wrap are ignored.
  void Begin(uint64_t start, uint64_t size_bytes, std::string_view name, uint64_t time_ns);
  // Code that is there went. Nothing happens when none of that name starts there.
  void End(uint64_t start, std::string_view name, uint64_t time_ns);

  // Makes what is there equal to a list: what is not listed ended by `times.read_ns`, what is new
  // was there since `times.listed_ns` unless something else was, what is listed shorter becomes so.
  // Reports newer than `times.read_ns` count more than the list.
  struct ListTimes {
    uint64_t listed_ns = 0;    // When the list before this one was read.
    uint64_t complete_ns = 0;  // Until when every report has been taken.
    uint64_t read_ns = 0;      // When the reading of this one began.
  };
  void Reconcile(std::span<const ListedCode> listed, const ListTimes& times);

  // What was at `address` at `time_ns`; the youngest where several can be meant; nullptr: nothing.
  // The pointer is valid until the next call that is not const.
  const CodePiece* Find(uint64_t address, uint64_t time_ns) const;
  // The piece of that name which is there now.
  const CodePiece* FindLive(std::string_view name) const;

  // Nobody asks about times before `time_ns` any more.
  void DropEndedBefore(uint64_t time_ns);

  const std::map<uint64_t, CodePiece>& live_pieces() const { return live_; }         // By start.
  const std::multimap<uint64_t, CodePiece>& ended_pieces() const { return ended_; }  // By start.

  uint64_t dropped_early() const { return dropped_early_; }
  uint64_t refused() const { return refused_; }
  uint64_t last_number() const { return next_number_ - 1; }
  size_t bytes() const;

 private:
  using Live = std::map<uint64_t, CodePiece>;        // By start; disjoint.
  using Ended = std::multimap<uint64_t, CodePiece>;  // By start.
  Live::iterator EndAt(Live::iterator piece, uint64_t time_ns);
  void EndOverlapping(uint64_t start, uint64_t end, uint64_t time_ns);
  bool IsOlderThanReports(const ListedCode& code, uint64_t read_ns) const;
  uint64_t EarliestBegin(const ListedCode& code, const ListTimes& times) const;
  void DropOldest();

  Live live_;
  Ended ended_;
  std::deque<Ended::iterator> by_end_;  // In the order in which they were ended.
  uint64_t longest_ended_ = 0;          // No ended piece has more bytes.
  uint64_t next_number_ = 1;
  uint64_t dropped_early_ = 0, refused_ = 0;
  size_t name_bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CODE_HISTORY_H_
