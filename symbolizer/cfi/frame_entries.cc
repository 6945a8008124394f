#include "symbolizer/cfi/frame_entries.h"

#include <dwarf.h>

#include <algorithm>

#include "symbolizer/cfi/pointer_encoding.h"

namespace stackray::cfi {
namespace {

constexpr size_t kWindows = 4, kWindowBytes = 8 << 10;
constexpr size_t kMaxCommons = 8;
constexpr uint64_t kMaxCommonBytes = 4096;  // Real ones have 16 to 40.
constexpr uint8_t kUsualEncoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
constexpr uint32_t kLengthIs64Bit = 0xffffffff;
constexpr uint64_t kDebugFrameCommonId32 = 0xffffffff;
constexpr uint64_t kDebugFrameCommonId64 = ~uint64_t{0};

// The code that an entry is of. Nearly all say it in two words of 4 bytes, so these go by a shorter
// way.
bool ReadCodeRange(ByteCursor& cursor, const CfaContext& context, uint64_t field_address,
                   FrameEntry* entry) {
  const uint8_t encoding = context.pointer_encoding;
  if (encoding == kUsualEncoding && cursor.remaining_bytes() >= 2 * sizeof(int32_t)) {
    entry->begin = field_address + static_cast<uint64_t>(int64_t{cursor.Read<int32_t>()});
    entry->end = entry->begin + static_cast<uint64_t>(int64_t{cursor.Read<int32_t>()});
    return true;
  }
  const std::optional<uint64_t> begin = ReadEncodedPointer(
      cursor, encoding, {.field_address = field_address, .text_address = context.text_address});
  const std::optional<uint64_t> size = ReadEncodedFormat(cursor, encoding);
  if (!begin || !size) return false;
  entry->begin = *begin;
  entry->end = *begin + *size;
  return true;
}

}  // namespace

FrameEntries::FrameEntries(const ByteSource* source, const FrameRegion& region)
    : region_(region),
      windows_(source, region.file_offset, region.size_bytes, kWindows, kWindowBytes) {
  commons_.reserve(kMaxCommons);  // Entries refer to elements.
}

std::optional<EntryHeader> FrameEntries::ReadHeader(uint64_t position) {
  if (position >= region_.size_bytes) return std::nullopt;
  const uint64_t available = std::min<uint64_t>(region_.size_bytes - position, 20);
  const uint8_t* bytes = windows_.Get(position, available);
  if (bytes == nullptr) return std::nullopt;
  ByteCursor cursor(std::span(bytes, available));
  uint64_t length = cursor.Read<uint32_t>();
  const bool is_64_bit = length == kLengthIs64Bit;
  if (is_64_bit) length = cursor.Read<uint64_t>();
  if (!cursor.ok()) return std::nullopt;
  const uint64_t id_position = position + (is_64_bit ? 12 : 4);
  EntryHeader header;
  header.end = id_position + length;
  if (length == 0) {
    header.is_terminator = true;
    return header;
  }
  // In .eh_frame the pointer has 4 bytes even behind a 64-bit length.
  const uint64_t id_bytes = is_64_bit && region_.is_debug_frame ? 8 : 4;
  const uint64_t id = id_bytes == 8 ? cursor.Read<uint64_t>() : cursor.Read<uint32_t>();
  if (!cursor.ok() || length < id_bytes || length > region_.size_bytes - id_position)
    return std::nullopt;
  header.body = id_position + id_bytes;
  if (region_.is_debug_frame) {
    header.is_common = id == (id_bytes == 8 ? kDebugFrameCommonId64 : kDebugFrameCommonId32);
    header.common = id;
  } else {
    header.is_common = id == 0;
    header.common = id_position - id;
    if (id > id_position) return std::nullopt;
  }
  return header;
}

FrameEntries::ReadResult FrameEntries::Read(uint64_t position, int64_t* budget, FrameEntry* entry) {
  const std::optional<EntryHeader> header = ReadHeader(position);
  if (!header || header->is_terminator || header->is_common) return ReadResult::kNoEntry;
  entry->common = FindCommon(header->common, budget);
  if (entry->common == nullptr) return ReadResult::kNoEntry;
  if (!entry->common->usable) return ReadResult::kBadCommon;
  const uint8_t* body = windows_.Get(header->body, header->end - header->body);
  if (body == nullptr) return ReadResult::kNoEntry;
  return ParseDescription(ByteCursor(std::span(body, header->end - header->body)), header->body,
                          entry);
}

FrameEntries::ReadResult FrameEntries::ParseDescription(ByteCursor cursor, uint64_t body_position,
                                                        FrameEntry* entry) {
  const CommonEntry& common = *entry->common;
  const size_t body_bytes = cursor.remaining_bytes();
  if (!ReadCodeRange(cursor, common.context, region_.address + body_position, entry))
    return ReadResult::kNoEntry;
  if (entry->end < entry->begin) return ReadResult::kNoEntry;
  if (common.has_augmentation_size) cursor.Take(cursor.ReadUleb());
  if (!cursor.ok()) return ReadResult::kNoEntry;
  entry->instructions_address =
      region_.address + body_position + (body_bytes - cursor.remaining_bytes());
  entry->instructions = cursor.Take(cursor.remaining_bytes());
  return ReadResult::kOk;
}

// nullptr: there is no common entry at `position`.
const CommonEntry* FrameEntries::FindCommon(uint64_t position, int64_t* budget) {
  if (last_common_ < commons_.size() && commons_[last_common_].position == position)
    return &commons_[last_common_];
  for (size_t i = 0; i < commons_.size(); ++i) {
    if (commons_[i].position != position) continue;
    last_common_ = i;
    return &commons_[i];
  }
  const std::optional<EntryHeader> header = ReadHeader(position);
  if (!header || !header->is_common || header->is_terminator) return nullptr;
  const uint64_t body_bytes = header->end - header->body;
  if (body_bytes > kMaxCommonBytes) return nullptr;
  const uint8_t* body = windows_.Get(header->body, body_bytes);
  if (body == nullptr) return nullptr;
  CommonEntry common;
  common.position = position;
  *budget -= 64 + static_cast<int64_t>(body_bytes);
  common.usable = ParseCommon(ByteCursor(std::span(body, body_bytes)), header->body, &common) &&
                  initial_program_.RunInitial(&common.context, common.instructions, budget);
  last_common_ = commons_.size();
  if (commons_.size() < kMaxCommons) {
    commons_.push_back(std::move(common));
  } else {
    last_common_ = next_victim_++ % kMaxCommons;
    commons_[last_common_] = std::move(common);
  }
  return &commons_[last_common_];
}

// On arm64 hand-written functions may say that theirs is another register than x30 (glibc's
// rawmemchr: x15).
bool FrameEntries::SetReturnRegister(uint64_t number, CfaContext* context) const {
  if (number == region_.machine->return_register) return true;
  if (!region_.machine->is_arm64() || number >= kRegisterX29) return false;
  context->initial.registers[kSlotRa] = {.kind = RuleKind::kRegister,
                                         .other_register = static_cast<uint8_t>(number)};
  return true;
}

bool FrameEntries::ParseCommon(ByteCursor cursor, uint64_t body_position, CommonEntry* common) {
  const uint8_t* body = cursor.position();
  const uint8_t version = cursor.Read<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  const uint8_t* letters = cursor.position();
  while (cursor.ok() && cursor.Read<uint8_t>() != 0) {
  }
  if (!cursor.ok()) return false;
  const std::span<const uint8_t> augmentation(letters, cursor.position() - 1);
  if (version == 4) {
    const uint8_t address_bytes = cursor.Read<uint8_t>();
    const uint8_t segment_selector_bytes = cursor.Read<uint8_t>();
    if (address_bytes != 8 || segment_selector_bytes != 0) return false;
  }
  common->context.machine = region_.machine;
  common->context.text_address = region_.text_address;
  common->context.code_alignment = cursor.ReadUleb();
  common->context.data_alignment = cursor.ReadSleb();
  const uint64_t return_register = version == 1 ? cursor.Read<uint8_t>() : cursor.ReadUleb();
  if (!cursor.ok() || !SetReturnRegister(return_register, &common->context)) return false;
  if (!augmentation.empty()) {
    if (augmentation.front() != 'z') return false;
    common->has_augmentation_size = true;
    const ByteCursor data(cursor.Take(cursor.ReadUleb()));
    if (!cursor.ok()) return false;
    const uint64_t data_position = body_position + static_cast<uint64_t>(data.position() - body);
    if (!ParseAugmentation(augmentation.subspan(1), data, data_position, common)) return false;
  }
  const std::span<const uint8_t> instructions = cursor.Take(cursor.remaining_bytes());
  common->instructions.assign(instructions.begin(), instructions.end());
  return true;
}

bool FrameEntries::ParseAugmentation(std::span<const uint8_t> letters, ByteCursor data,
                                     uint64_t data_position, CommonEntry* common) {
  const size_t data_bytes = data.remaining_bytes();
  for (const uint8_t letter : letters) {
    switch (letter) {
      case 'R': common->context.pointer_encoding = data.Read<uint8_t>(); break;
      case 'L': data.Read<uint8_t>(); break;
      case 'P': {  // Skipped; "aligned" pads to 8 and is followed by a whole pointer.
        const uint8_t encoding = data.Read<uint8_t>();
        if (encoding == DW_EH_PE_aligned) {
          const uint64_t address =
              region_.address + data_position + (data_bytes - data.remaining_bytes());
          data.Take((8 - address % 8) % 8 + 8);
        } else if (!ReadEncodedFormat(data, encoding)) {
          return false;
        }
        break;
      }
      case 'S': common->signal_frame = true; break;
      case 'B':  // arm64: return addresses are signed with the other key,
      case 'G':  // and its stack frames are tagged.
        if (!region_.machine->is_arm64()) return false;
        break;
      default: return false;
    }
  }
  return data.ok();
}

size_t FrameEntries::memory_bytes() const {
  size_t bytes = windows_.memory_bytes() + initial_program_.memory_bytes() +
                 commons_.capacity() * sizeof(CommonEntry);
  for (const CommonEntry& common : commons_) bytes += common.instructions.capacity();
  return bytes;
}

}  // namespace stackray::cfi
