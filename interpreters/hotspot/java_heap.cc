#include "interpreters/hotspot/java_heap.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "interpreters/hotspot/method.h"
#include "interpreters/hotspot/unsigned5.h"
#include "interpreters/paged_memory.h"
#include "interpreters/utf8.h"

namespace stackray::hotspot {
namespace {

constexpr uint32_t kMostFields = 4096, kMostFieldBytes = 64 << 10, kMostFieldOffset = 4096;
constexpr int kMostSupers = 64;
constexpr uint64_t kAddressBits = 47;
constexpr uint32_t kMostStringBytes = 1U << 31;  // An array's length is an int.
// Array<T>: its length is first, T's of up to four bytes follow (oops/array.hpp).
constexpr uint64_t kArrayData = 4;
// The second word of an object's header (oops/oop.hpp).
constexpr uint64_t kClassAt = 8;
// Of compact object headers (oops/markWord.hpp, JDK 24 to 28).
constexpr uint32_t kMarkClassShift = 42;

// JDK 8 to 20 (oops/fieldInfo.hpp): six 16-bit slots a field.
constexpr uint32_t kFieldSlots = 6, kNameSlot = 1, kSignatureSlot = 2, kLowSlot = 4, kHighSlot = 5;
constexpr uint32_t kTagBits = 2, kTagMask = 3, kTagOffset = 1;

// The generational ZGC's coloured pointers (gc/z/zAddress.hpp, JDK 21 to 28): twelve bits, then
// four of which one is set. The address begins above that one.
constexpr uint64_t kRemappedShift = 12, kRemappedMask = 0xf;

// ZGC (gc/z/zForwardingEntry.hpp, zGlobals.hpp, zHash.inline.hpp, JDK 15 to 28; gc/x in 21 to 23).
// A table has a ZForwarding for each granule of which objects are moved, and that a hash table of
// what was moved: a bit that says so, 45 of the new place, 18 of the old one.
constexpr uint64_t kGranuleShift = 21, kNewPlaceShift = 1, kOldPlaceShift = 46;
constexpr uint64_t kNewPlaceMask = (uint64_t{1} << 45) - 1, kMostEntries = 1 << 20;
constexpr int kMostProbes = 1024;
// A generation's table, behind its own table of functions, its number and two pointers
// (gc/z/zGeneration.hpp, JDK 21 to 28): how many granules it has, and then as the heap's.
constexpr uint64_t kGenerationsTable = 32;

uint32_t HashOfPlace(uint32_t key) {
  key = ~key + (key << 15);
  key ^= key >> 12;
  key += key << 2;
  key ^= key >> 4;
  key *= 2057;
  return key ^ key >> 16;
}

uint64_t TableOfHeap(ProcessMemory& memory, const ForwardingLayout& at) {
  if (at.collected_heap_at == 0) return 0;
  const auto heap = ReadNumber<uint64_t>(memory, at.collected_heap_at);
  return heap == 0 ? 0 : ReadNumber<uint64_t>(memory, heap + at.heap + at.table + at.map);
}

// 0: the granule of this offset is not in it.
uint64_t TableOfGeneration(ProcessMemory& memory, const ForwardingLayout& at, uint64_t variable,
                           uint64_t offset) {
  const uint64_t generation = variable == 0 ? 0 : ReadNumber<uint64_t>(memory, variable);
  if (generation == 0 || at.bytes == 0) return 0;
  const uint64_t table = generation + kGenerationsTable;
  return offset >> kGranuleShift < ReadNumber<uint64_t>(memory, table)
             ? ReadNumber<uint64_t>(memory, table + at.map)
             : 0;
}

// Where the object of this offset is now. nullopt: the table is not there, or makes no sense.
std::optional<uint64_t> MovedOffset(ProcessMemory& memory, const ForwardingLayout& at,
                                    uint64_t table, uint64_t offset) {
  if (table == 0) return std::nullopt;
  const auto forwarding =
      ReadNumber<uint64_t>(memory, table + (offset >> kGranuleShift) * sizeof(uint64_t));
  if (forwarding == 0) return offset;
  const auto begin = ReadNumber<uint64_t>(memory, forwarding + at.begin);
  const auto shift = ReadNumber<uint64_t>(memory, forwarding + at.alignment_shift);
  const auto count = ReadNumber<uint64_t>(memory, forwarding + at.entries);
  if (offset < begin || shift > kGranuleShift || count > kMostEntries ||
      !std::has_single_bit(count))
    return std::nullopt;
  const uint64_t old_place = (offset - begin) >> shift;
  const uint64_t entries = forwarding + (at.bytes + 7U) / 8U * 8U;
  uint64_t i = HashOfPlace(static_cast<uint32_t>(old_place));
  for (int probe = 0; probe < kMostProbes; ++probe, ++i) {
    const auto entry = ReadNumber<uint64_t>(memory, entries + (i & (count - 1)) * sizeof(uint64_t));
    if ((entry & 1) == 0) return offset;  // Not moved yet.
    if (entry >> kOldPlaceShift == old_place) return entry >> kNewPlaceShift & kNewPlaceMask;
  }
  return std::nullopt;
}

// Where a generation says that the object is now; else `address`. A reference's colours say which
// generation has moved it (gc/z/zBarrier.inline.hpp), and both may have: what comes of this counts
// only with the kernel's name (Reference::may_be_old).
uint64_t MovedByGenerations(ProcessMemory& memory, const ThreadLayout& threads, uint64_t globals,
                            uint64_t address) {
  const ForwardingLayout& at = threads.generational;
  if (at.bytes == 0) return address;
  const auto mask =
      ReadNumber<uint64_t>(memory, ReadNumber<uint64_t>(memory, globals + at.offset_mask));
  const uint64_t offset = address & mask;
  for (const uint64_t variable : {threads.young_generation_at, threads.old_generation_at}) {
    const std::optional<uint64_t> moved =
        MovedOffset(memory, at, TableOfGeneration(memory, at, variable, offset), offset);
    if (moved && *moved != offset) return (address & ~mask) | *moved;
  }
  return address;
}

bool IsField(ProcessMemory& memory, const Layout& layout, uint64_t pool, uint32_t name,
             uint32_t signature, std::string_view wanted, std::string_view wanted_signature) {
  return PoolText(memory, layout, pool, static_cast<uint16_t>(name)) == wanted &&
         PoolText(memory, layout, pool, static_cast<uint16_t>(signature)) == wanted_signature;
}

uint32_t Bounded(uint32_t offset) { return offset <= kMostFieldOffset ? offset : 0; }

std::vector<uint8_t> ArrayBytes(ProcessMemory& memory, uint64_t array, uint32_t item_bytes) {
  const uint64_t length = uint64_t{ReadNumber<uint32_t>(memory, array)} * item_bytes;
  if (array == 0 || length > kMostFieldBytes) return {};
  std::vector<uint8_t> bytes(length);
  if (!memory.Read(array + kArrayData, bytes)) bytes.clear();
  return bytes;
}

uint32_t OffsetInSlots(ProcessMemory& memory, const Layout& layout, uint64_t klass,
                       std::string_view name, std::string_view signature) {
  const ThreadLayout& at = layout.threads;
  const auto pool = ReadNumber<uint64_t>(memory, klass + at.class_pool);
  const std::vector<uint8_t> bytes =
      ArrayBytes(memory, ReadNumber<uint64_t>(memory, klass + at.class_fields), sizeof(uint16_t));
  const auto count =
      std::min<uint32_t>(ReadNumber<uint16_t>(memory, klass + at.class_field_count), kMostFields);
  for (uint32_t field = 0; field < count; ++field) {
    const auto slot = [&](uint32_t i) {
      return uint32_t{NumberAt<uint16_t>(bytes, (field * kFieldSlots + i) * sizeof(uint16_t))};
    };
    if (slot(kNameSlot) == 0) return 0;
    if (!IsField(memory, layout, pool, slot(kNameSlot), slot(kSignatureSlot), name, signature))
      continue;
    if ((slot(kLowSlot) & kTagMask) != kTagOffset) return 0;
    return Bounded((slot(kHighSlot) << 16 | slot(kLowSlot)) >> kTagBits);
  }
  return 0;
}

uint32_t OffsetInStream(ProcessMemory& memory, const Layout& layout, uint64_t klass,
                        std::string_view name, std::string_view signature) {
  const ThreadLayout& at = layout.threads;
  const auto pool = ReadNumber<uint64_t>(memory, klass + at.class_pool);
  const std::vector<uint8_t> bytes =
      ArrayBytes(memory, ReadNumber<uint64_t>(memory, klass + at.class_field_stream), 1);
  Unsigned5 numbers(bytes, layout.unsigned5_excluded);
  const uint32_t count = std::min(numbers.Next().value_or(0), kMostFields);
  (void)numbers.Next();  // Of fields that the VM adds, which follow the class's own.
  for (uint32_t field = 0; field < count; ++field) {
    const auto name_index = numbers.Next(), signature_index = numbers.Next();
    const auto offset = numbers.Next(), access = numbers.Next(), flags = numbers.Next();
    if (!name_index || !signature_index || !offset || !access || !flags) return 0;
    if ((*flags & at.flag_of_added) == 0 &&
        IsField(memory, layout, pool, *name_index, *signature_index, name, signature))
      return Bounded(*offset);
    if ((*flags & ~(at.flags_with_number | at.flags_without)) != 0)
      return 0;  // What follows it is not known.
    for (int more = std::popcount(*flags & at.flags_with_number); more > 0; --more)
      if (!numbers.Next()) return 0;
  }
  return 0;
}

constexpr bool IsHighSurrogate(char16_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
constexpr bool IsLowSurrogate(char16_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

uint32_t FieldOffset(ProcessMemory& memory, const Layout& layout, uint64_t klass,
                     std::string_view name, std::string_view signature) {
  if (layout.threads.class_pool == kNoField) return 0;
  if (layout.threads.class_field_stream != kNoField)
    return OffsetInStream(memory, layout, klass, name, signature);
  if (layout.threads.class_fields == kNoField || layout.threads.class_field_count == kNoField)
    return 0;
  return OffsetInSlots(memory, layout, klass, name, signature);
}

std::string TextOfUnits(std::u16string_view units) {
  std::string text;
  for (size_t i = 0; i < units.size(); ++i) {
    const char16_t unit = units[i];
    if (IsHighSurrogate(unit) && i + 1 < units.size() && IsLowSurrogate(units[i + 1])) {
      const char16_t low = units[++i];
      AppendUtf8(0x10000 + ((uint32_t{unit} - 0xd800) << 10) + (low - 0xdc00), &text);
      continue;
    }
    const bool is_half = IsHighSurrogate(unit) || IsLowSurrogate(unit);
    AppendUtf8(is_half || unit == 0 ? '?' : unit, &text);
  }
  return text;
}

// Colours are few bits that the collector changes for all pointers at once: one that has another
// colour now was written before the objects that it moves were chosen.
Reference JavaHeap::Decode(ProcessMemory& memory, uint64_t raw) const {
  const ThreadLayout& at = layout_.threads;
  Reference reference{.raw = raw, .address = raw};
  const auto mask_of = [&](uint64_t globals, uint16_t field) {
    return globals == 0 || field == kNoField
               ? 0
               : ReadNumber<uint64_t>(memory, ReadNumber<uint64_t>(memory, globals + field));
  };
  const auto variable = [&](uint64_t where) {
    return where == 0 ? 0 : ReadNumber<uint64_t>(memory, where);
  };
  const uint64_t globals = variable(at.colours_at), older = variable(at.older_colours_at);
  if (const uint64_t bad = mask_of(globals, at.load_bad_mask); bad != 0) {
    const uint64_t remapped = raw >> kRemappedShift & kRemappedMask;
    reference.address =
        std::has_single_bit(remapped)
            ? raw >> (kRemappedShift + 1 + static_cast<uint64_t>(std::countr_zero(remapped)))
            : 0;
    reference.may_be_old = (raw & bad) != 0;
    if (reference.may_be_old && reference.address != 0)
      reference.address = MovedByGenerations(memory, at, globals, reference.address);
  } else if (globals != 0 || older != 0) {  // Its views of the heap are all mapped.
    reference.may_be_old =
        (raw & (mask_of(globals, at.bad_mask) | mask_of(older, at.older_bad_mask))) != 0;
    const uint64_t of_masks = older != 0 ? older : globals;
    const std::optional<uint64_t> moved =
        reference.may_be_old
            ? MovedOffset(memory, at.forwarding, TableOfHeap(memory, at.forwarding),
                          raw & mask_of(of_masks, at.forwarding.offset_mask))
            : std::nullopt;
    if (moved) {
      reference.address = *moved | mask_of(of_masks, at.forwarding.good_mask);
      reference.may_be_old = false;
    }
  }
  if (reference.address >> kAddressBits != 0) reference.address = 0;
  return reference;
}

Reference JavaHeap::ReadField(ProcessMemory& memory, uint64_t at, ReferenceForm form) const {
  if (form == ReferenceForm::kWhole) return Decode(memory, ReadNumber<uint64_t>(memory, at));
  const uint64_t raw = ReadNumber<uint32_t>(memory, at);
  if (raw == 0 || layout_.threads.oop_base_at == 0 || layout_.threads.oop_shift_at == 0) return {};
  const auto base = ReadNumber<uint64_t>(memory, layout_.threads.oop_base_at);
  const uint32_t shift = ReadNumber<uint32_t>(memory, layout_.threads.oop_shift_at) & 31;
  return {.raw = raw, .address = base + (raw << shift)};
}

uint64_t JavaHeap::ClassOf(ProcessMemory& memory, uint64_t object, ClassForm form) const {
  const ThreadLayout& at = layout_.threads;
  if (form == ClassForm::kWhole) return ReadNumber<uint64_t>(memory, object + kClassAt);
  if (at.class_base_at == 0 || at.class_shift_at == 0) return 0;
  uint64_t narrow = 0;
  if (form == ClassForm::kNarrow)
    narrow = ReadNumber<uint32_t>(memory, object + kClassAt);
  else
    narrow = ReadNumber<uint64_t>(memory, object) >> kMarkClassShift;
  if (narrow == 0) return 0;
  return ReadNumber<uint64_t>(memory, at.class_base_at) +
         (narrow << (ReadNumber<uint32_t>(memory, at.class_shift_at) & 31));
}

bool JavaHeap::IsCalled(ProcessMemory& memory, uint64_t klass, std::string_view name) const {
  if (klass == 0 || klass % sizeof(uint64_t) != 0) return false;
  const auto symbol = ReadNumber<uint64_t>(memory, klass + layout_.class_name);
  return ReadSymbol(memory, layout_, symbol) == name;
}

uint64_t JavaHeap::ThreadClassAbove(ProcessMemory& memory, uint64_t klass) const {
  for (int i = 0; i < kMostSupers && klass != 0; ++i) {
    if (IsCalled(memory, klass, "java/lang/Thread")) return klass;
    klass = ReadNumber<uint64_t>(memory, klass + layout_.threads.class_super);
  }
  return 0;
}

bool JavaHeap::LearnThread(ProcessMemory& memory, uint64_t thread) {
  for (const ClassForm form : {ClassForm::kNarrow, ClassForm::kWhole, ClassForm::kInMark}) {
    const uint64_t klass = ThreadClassAbove(memory, ClassOf(memory, thread, form));
    if (klass == 0) continue;
    const uint32_t name = FieldOffset(memory, layout_, klass, "name", "Ljava/lang/String;");
    if (name == 0) return false;
    thread_ = {.class_form = form, .klass = klass, .name = name};
    return true;
  }
  return false;
}

bool JavaHeap::LearnString(ProcessMemory& memory, uint64_t name_at) {
  for (const ReferenceForm form : {ReferenceForm::kNarrow, ReferenceForm::kWhole}) {
    const uint64_t string = ReadField(memory, name_at, form).address;
    const uint64_t klass = string == 0 ? 0 : ClassOf(memory, string, thread_->class_form);
    if (!IsCalled(memory, klass, "java/lang/String")) continue;
    StringClass found{.form = form, .klass = klass};
    found.value = FieldOffset(memory, layout_, klass, "value", "[B");
    if (found.value != 0)
      found.coder = FieldOffset(memory, layout_, klass, "coder", "B");
    else
      found.value = FieldOffset(memory, layout_, klass, "value", "[C");
    if (found.value == 0) return false;
    string_ = found;
    return true;
  }
  return false;
}

bool JavaHeap::IsThread(ProcessMemory& memory, uint64_t klass) const {
  for (int i = 0; i < kMostSupers && klass != 0; ++i) {
    if (klass == thread_->klass) return true;
    klass = ReadNumber<uint64_t>(memory, klass + layout_.threads.class_super);
  }
  return false;
}

std::optional<std::string> JavaHeap::TextOf(ProcessMemory& memory, const Reference& string,
                                            bool* may_be_old) const {
  constexpr uint8_t kLatin1 = 0;
  const ClassForm form = thread_->class_form;
  if (string.address == 0 || ClassOf(memory, string.address, form) != string_->klass)
    return std::nullopt;
  const bool has_chars = string_->coder == 0;
  const bool is_wide =
      has_chars || ReadNumber<uint8_t>(memory, string.address + string_->coder) != kLatin1;
  const Reference value = ReadField(memory, string.address + string_->value, string_->form);
  if (value.address == 0 ||
      !IsCalled(memory, ClassOf(memory, value.address, form), has_chars ? "[C" : "[B"))
    return std::nullopt;
  const uint64_t length_at = form == ClassForm::kInMark ? 8 : form == ClassForm::kNarrow ? 12 : 16;
  uint64_t data_at = length_at + sizeof(uint32_t);
  if (form == ClassForm::kWhole && layout_.threads.has_wide_array_begin) data_at = 24;
  const auto length = ReadNumber<uint32_t>(memory, value.address + length_at);
  if (length >= kMostStringBytes) return std::nullopt;
  const uint32_t units = std::min(is_wide && !has_chars ? length / 2 : length, kMostNameUnits);
  std::vector<uint8_t> bytes(units * (is_wide ? sizeof(char16_t) : 1));
  if (!memory.Read(value.address + data_at, bytes)) return std::nullopt;
  *may_be_old |= string.may_be_old || value.may_be_old;
  std::u16string text;
  for (size_t i = 0; i < units; ++i)
    text += is_wide ? static_cast<char16_t>(NumberAt<uint16_t>(bytes, i * sizeof(char16_t)))
                    : static_cast<char16_t>(bytes[i]);
  return TextOfUnits(text);
}

// Twice, because the collector may have moved one of the objects in between.
std::optional<JavaHeap::ThreadName> JavaHeap::NameOfThread(ProcessMemory& memory, uint64_t at) {
  const Reference thread = Decode(memory, ReadNumber<uint64_t>(memory, at));
  if (thread.address == 0 || layout_.threads.class_super == kNoField) return std::nullopt;
  if (!thread_ && !LearnThread(memory, thread.address)) return std::nullopt;
  if (!IsThread(memory, ClassOf(memory, thread.address, thread_->class_form))) return std::nullopt;
  const uint64_t name_at = thread.address + thread_->name;
  if (!string_ && !LearnString(memory, name_at)) return std::nullopt;
  const Reference string = ReadField(memory, name_at, string_->form);
  ThreadName name{.text = {}, .may_be_old = thread.may_be_old};
  std::optional<std::string> text = TextOf(memory, string, &name.may_be_old);
  if (!text || Decode(memory, ReadNumber<uint64_t>(memory, at)).raw != thread.raw ||
      ReadField(memory, name_at, string_->form).raw != string.raw)
    return std::nullopt;
  name.text = *std::move(text);
  return name;
}

}  // namespace stackray::hotspot
