#include "interpreters/ruby/values.h"

#include <algorithm>
#include <array>
#include <vector>

#include "bpf/shared/ruby.h"

namespace stackray {
namespace {

constexpr uint32_t kTypeMask = 0x1f, kInternalMask = 0xf01f, kInternalType = 0x1a;
constexpr uint32_t kEmbeddedLengthMask = 0x1f;
// Names by number (symbol.c of 2.7, 3.1 and 3.3, ID_ENTRY_UNIT and ID_ENTRY_SIZE): an array of
// arrays, each with the text and the symbol of 512 names.
constexpr uint64_t kNamesInOneArray = 512, kItemsOfName = 2;
constexpr uint64_t kLeastObject = 4096;
constexpr uint64_t kMostItems = uint64_t{1} << 32;
// A class with more variables of its own than this is shown without its name, to 3.1.
constexpr uint64_t kMostVariables = 256;
constexpr size_t kTableEntryBytes = 24;  // Hash, key, record; a deleted one has the hash ~0 (st.c).
constexpr uint64_t kDeleted = ~0ULL;

}  // namespace

std::optional<uint64_t> RubyValues::Word(uint64_t address) {
  std::array<uint8_t, 8> bytes{};
  if (!memory_.Read(address, bytes)) return std::nullopt;
  return NumberAt<uint64_t>(bytes, 0);
}

bool RubyValues::Is(uint64_t object, RubyType type) {
  if (object < kLeastObject || (object & 7) != 0) return false;  // A number, a symbol, nil, …
  const std::optional<uint64_t> flags = Word(object);
  if (!flags) return false;
  const auto wanted = static_cast<uint32_t>(type);
  return (*flags & ((wanted & kTypeMask) == kInternalType ? kInternalMask : kTypeMask)) == wanted;
}

std::optional<std::string> RubyValues::Text(uint64_t string) {
  std::array<uint8_t, 32> head{};
  if (!Is(string, RubyType::kString) || !memory_.Read(string, head)) return std::nullopt;
  const auto flags = NumberAt<uint64_t>(head, 0);
  const bool is_heap = (flags & fields_.string_heap_flag) != 0;
  uint64_t length = NumberAt<uint64_t>(head, fields_.string_length);
  if (!is_heap && fields_.string_length_shift != kNoField)
    length = flags >> fields_.string_length_shift & kEmbeddedLengthMask;
  if (length > kMostItems) return std::nullopt;
  const uint64_t at =
      is_heap ? NumberAt<uint64_t>(head, fields_.string_pointer) : string + fields_.string_embedded;
  std::vector<uint8_t> bytes(std::min(length, kMaxRubyTextBytes));
  if (!bytes.empty() && !memory_.Read(at, bytes)) return std::nullopt;
  return std::string(bytes.begin(), bytes.end());
}

std::optional<uint64_t> RubyValues::Item(uint64_t array, uint64_t index) {
  if (index > kMostItems || !Is(array, RubyType::kArray)) return std::nullopt;
  const std::optional<uint64_t> flags = Word(array);
  if (!flags) return std::nullopt;
  if ((*flags & fields_.array_embedded_flag) != 0)
    return index < 3 ? Word(array + fields_.array_embedded + 8 * index) : std::nullopt;
  const std::optional<uint64_t> length = Word(array + 16),
                                items = Word(array + fields_.array_pointer);
  if (!length || !items || index >= *length) return std::nullopt;
  return Word(*items + 8 * index);
}

std::optional<std::string> RubyValues::Name(uint64_t id) {
  const std::optional<uint64_t> names =
      names_by_number_ == 0 ? std::nullopt : Word(names_by_number_);
  if (!names) return std::nullopt;
  const uint64_t number = id > fields_.last_operator_id ? id >> fields_.id_shift : id;
  const std::optional<uint64_t> part = Item(*names, number / kNamesInOneArray);
  if (!part) return std::nullopt;
  const std::optional<uint64_t> text = Item(*part, number % kNamesInOneArray * kItemsOfName);
  return text ? Text(*text) : std::nullopt;
}

std::optional<uint64_t> RubyValues::Extension(uint64_t klass) {
  const uint64_t at = klass + fields_.class_ext;
  return fields_.class_ext_is_pointer != 0 ? Word(at) : at;
}

std::optional<uint64_t> RubyValues::FindHidden(
    uint64_t klass, absl::FunctionRef<bool(uint64_t id, uint64_t value)> is_wanted) {
  const std::optional<uint64_t> extension = Extension(klass);
  if (!extension || fields_.ext_variables == kNoField) return std::nullopt;
  const std::optional<uint64_t> table = Word(*extension + fields_.ext_variables);
  if (!table || *table == 0) return std::nullopt;
  const std::optional<uint64_t> start = Word(*table + fields_.table_start);
  const std::optional<uint64_t> bound = Word(*table + fields_.table_bound);
  const std::optional<uint64_t> entries = Word(*table + fields_.table_entries);
  if (!start || !bound || !entries || *start > *bound || *bound > kMostItems) return std::nullopt;
  const uint64_t end = std::min(*bound, *start + kMostVariables);
  // In pieces as BPF sends the first one.
  for (uint64_t i = *start; i < end; i += RUBY_VARIABLES_AT_ONCE) {
    std::vector<uint8_t> bytes(std::min<uint64_t>(end - i, RUBY_VARIABLES_AT_ONCE) *
                               kTableEntryBytes);
    if (!memory_.Read(*entries + i * kTableEntryBytes, bytes)) return std::nullopt;
    for (size_t at = 0; at < bytes.size(); at += kTableEntryBytes) {
      const auto id = NumberAt<uint64_t>(bytes, at + 8), value = NumberAt<uint64_t>(bytes, at + 16);
      if (NumberAt<uint64_t>(bytes, at) != kDeleted &&
          ruby_is_hidden_name(id, fields_.last_operator_id) != 0 && is_wanted(id, value))
        return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string> RubyValues::ClassName(uint64_t klass) {
  if (!Is(klass, RubyType::kClass) && !Is(klass, RubyType::kModule)) return std::nullopt;
  const std::optional<uint64_t> extension = Extension(klass);
  if (!extension) return std::nullopt;
  std::optional<uint64_t> path;
  if (fields_.ext_path != kNoField) {
    path = Word(*extension + fields_.ext_path);
  } else if (fields_.ext_values != kNoField) {  // 3.2: a named class's first value is its name.
    const std::optional<uint64_t> values = Word(*extension + fields_.ext_values);
    path = values ? Word(*values) : std::nullopt;
  } else {
    // __classpath__ is the only string there, but the name of a class without one: #<Class:0x…>
    path = FindHidden(klass, [this](uint64_t, uint64_t value) {
      const std::optional<std::string> text = Text(value);
      return text && !text->starts_with('#');
    });
    // 2.5 and 2.6 keep only the last part of a name as long as nobody has asked for the whole.
    if (!path)
      if (const auto symbol = FindHidden(
              klass, [this](uint64_t id, uint64_t) { return Name(id) == "__classid__"; }))
        return Name(*symbol >> 8);
  }
  std::optional<std::string> name = path ? Text(*path) : std::nullopt;
  if (name && (name->empty() || (*name)[0] == '#')) return std::nullopt;
  return name;
}

std::optional<uint64_t> RubyValues::AttachedObject(uint64_t singleton) {
  const std::optional<uint64_t> extension = Extension(singleton);
  if (!extension) return std::nullopt;
  if (fields_.ext_attached != kNoField) return Word(*extension + fields_.ext_attached);
  if (fields_.ext_values == kNoField)
    return FindHidden(singleton, [this](uint64_t, uint64_t value) {
      return Is(value, RubyType::kClass) || Is(value, RubyType::kModule);
    });
  const std::optional<uint64_t> values = Word(*extension + fields_.ext_values);
  return values ? Word(*values) : std::nullopt;
}

std::string RubyValues::QualifiedName(uint64_t owner, const std::string& method) {
  const std::optional<uint64_t> flags = owner == 0 || (owner & 7) != 0 ? std::nullopt : Word(owner);
  const bool is_singleton =
      flags && Is(owner, RubyType::kClass) && (*flags & fields_.singleton_flag) != 0;
  std::optional<std::string> name;
  if (is_singleton) {
    const std::optional<uint64_t> object = AttachedObject(owner);
    // The object's class is this one, or something that was put before it.
    if (object && *object != owner) name = ClassName(*object);
  } else if (flags) {
    name = ClassName(owner);
  }
  if (!name) return method;
  return *name + (is_singleton ? "." : "#") + method;
}

}  // namespace stackray
