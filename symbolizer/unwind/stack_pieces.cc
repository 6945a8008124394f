#include "symbolizer/unwind/stack_pieces.h"

#include <utility>

namespace stackray {

void StackPieces::Forget(std::map<uint32_t, Stack>::iterator at) {
  bytes_ -= at->second.above.bytes.size();
  stacks_.erase(at);
}

void StackPieces::Take(const StackPiece& piece) {
  const stack_record& record = *piece.record;
  if (piece.bytes.empty()) return;
  if (const auto old = stacks_.find(record.cpu); old != stacks_.end()) {
    const Stack& stack = old->second;
    if (stack.time_ns != record.header.time_ns || stack.pid != record.process.pid ||
        stack.tid != record.tid || stack.above.address + stack.above.bytes.size() != record.address)
      Forget(old);
  }
  if (bytes_ + piece.bytes.size() > kMaxBytes) return;
  Stack& stack = stacks_[record.cpu];
  std::vector<uint8_t>& bytes = stack.above.bytes;
  if (bytes.empty())
    stack = {.time_ns = record.header.time_ns,
             .pid = record.process.pid,
             .tid = record.tid,
             .above = {.address = record.address, .bytes = {}}};
  bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
  bytes_ += piece.bytes.size();
}

StackAbove StackPieces::TakeOf(const sample_record& sample) {
  const auto at = stacks_.find(sample.cpu);
  if (at == stacks_.end()) return {};
  const Stack& stack = at->second;
  StackAbove above;
  if (stack.time_ns == sample.header.time_ns && stack.pid == sample.process.pid &&
      stack.tid == sample.tid) {
    bytes_ -= stack.above.bytes.size();
    above = std::exchange(at->second.above, {});
  }
  Forget(at);
  return above;
}

}  // namespace stackray
