#include "agent/sampling/ring_intake.h"

#include <variant>

#include "kernel/raw_sample.h"

namespace stackray {

uint64_t RingIntake::Add(std::span<const uint8_t> bytes, const Take& take) {
  const absl::StatusOr<Record> record = DecodeRecord(bytes);
  if (const auto* piece = record.ok() ? std::get_if<StackPiece>(&*record) : nullptr) {
    stack_pieces_.Take(*piece);
    return sizeof(piece->record->bytes);
  }
  const auto* sample = record.ok() ? std::get_if<RawSample>(&*record) : nullptr;
  if (sample == nullptr) {
    take({bytes});
    return 0;
  }
  const size_t slice_bytes = sample->raw_stack.size(), tail_bytes = sample->context.size();
  const StackAbove above = stack_pieces_.TakeOf(*sample->record);
  if ((sample->record->flags & SAMPLE_HAS_RAW) != 0) {
    const WalkResult finished = walk_.Finish(*sample, above);
    take({bytes, &finished, slice_bytes, tail_bytes});
  } else {
    take({.bytes = bytes, .slice_bytes = slice_bytes, .tail_bytes = tail_bytes});
  }
  return slice_bytes;
}

}  // namespace stackray
