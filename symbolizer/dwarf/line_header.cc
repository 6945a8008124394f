#include "symbolizer/dwarf/line_header.h"

#include <utility>

namespace stackray::dwarf {
namespace {

constexpr size_t kMaxPathBytes = 4096;
enum Content : uint16_t { kContentPath = 1, kContentDirectory = 2 };  // DW_LNCT_*

// DWARF 5: what fields an entry has, then the entries.
bool ReadEntries(SectionCursor& cursor, const UnitFormat& format,
                 std::vector<LineHeader::Name>* names) {
  std::vector<std::pair<uint64_t, uint64_t>> fields;
  const auto field_count = cursor.Read<uint8_t>();
  for (unsigned i = 0; i < field_count; ++i) {
    const uint64_t content = cursor.ReadUleb();
    fields.emplace_back(content, cursor.ReadUleb());
  }
  const uint64_t count = cursor.ReadUleb();
  if (count == 0) return cursor.ok();
  if (fields.empty()) return false;
  for (uint64_t i = 0; i < count; ++i) {
    LineHeader::Name name;
    if (!cursor.budget().Spend(fields.size())) return false;
    for (const auto& [content, form] : fields) {
      if (form > 0xffff) return false;
      const FormValue value = ReadForm(cursor, static_cast<uint16_t>(form), 0, format);
      if (content == kContentPath) name.text = value;
      if (content == kContentDirectory) name.directory = value.number;
    }
    if (!cursor.ok()) return false;
    if (names->size() < LineHeader::kMaxFiles) names->push_back(name);
  }
  return true;
}

// DWARF 2 to 4: texts until an empty one. Numbers begin with 1; 0 is the unit's own directory or no
// file.
bool ReadOldEntries(SectionCursor& cursor, bool are_files, std::vector<LineHeader::Name>* names) {
  names->push_back({});
  while (cursor.budget().Spend(1)) {
    const FormValue text{ValueKind::kInlineString, cursor.position()};
    cursor.SkipString();
    if (!cursor.ok()) return false;
    if (cursor.position() == text.number + 1) return true;
    LineHeader::Name name{text, 0};
    if (are_files) {
      name.directory = cursor.ReadUleb();
      cursor.ReadUleb();  // Time of change.
      cursor.ReadUleb();  // Length.
    }
    if (names->size() < LineHeader::kMaxFiles) names->push_back(name);
  }
  return false;
}

std::string TextOf(const Unit& unit, const FormValue& value, WorkBudget& budget) {
  if (value.kind == ValueKind::kInlineString)
    return ReadText({unit.parts.line, value.number}, budget);
  const std::optional<TextPlace> place = TextPlaceOf(unit, value, budget);
  return place && !place->in_alternate ? ReadText(*place, budget) : std::string();
}

std::string Join(std::string directory, const std::string& name) {
  if (directory.empty() || name.starts_with('/')) return name;
  if (name.empty()) return directory;
  if (!directory.ends_with('/')) directory += '/';
  return directory + name;
}

}  // namespace

std::optional<LineHeader> LineHeader::Read(const Unit& unit, uint64_t offset, WorkBudget& budget) {
  LineHeader header;
  SectionCursor cursor(unit.parts.line, budget, offset);
  const uint64_t length = cursor.ReadInitialLength(&header.format.offset_bytes);
  if (!cursor.ok() || length > unit.parts.line.size_bytes - cursor.position()) return std::nullopt;
  header.end = cursor.position() + length;
  header.format.version = cursor.Read<uint16_t>();
  header.format.address_bytes = unit.header.format.address_bytes;
  if (header.format.version < 2 || header.format.version > 5) return std::nullopt;
  if (header.format.version >= 5) {
    header.format.address_bytes = cursor.Read<uint8_t>();
    cursor.Skip(1);  // Size of a segment selector.
  }
  const uint64_t header_length = cursor.ReadSized(header.format.offset_bytes);
  if (!cursor.ok() || header_length > header.end - cursor.position()) return std::nullopt;
  header.program = cursor.position() + header_length;
  header.minimum_instruction_bytes = cursor.Read<uint8_t>();
  if (header.format.version >= 4) cursor.Skip(1);  // Operations an instruction: 1 on our machines.
  cursor.Skip(1);                                  // Whether rows are statements at first.
  header.line_base = static_cast<int8_t>(cursor.Read<uint8_t>());
  header.line_range = cursor.Read<uint8_t>();
  header.opcode_base = cursor.Read<uint8_t>();
  if (header.opcode_base == 0 || header.line_range == 0) return std::nullopt;
  header.opcode_arguments = cursor.ReadBytes(header.opcode_base - 1u);
  const bool good = header.format.version >= 5
                        ? ReadEntries(cursor, header.format, &header.directories) &&
                              ReadEntries(cursor, header.format, &header.files)
                        : ReadOldEntries(cursor, false, &header.directories) &&
                              ReadOldEntries(cursor, true, &header.files);
  return good && cursor.ok() ? std::optional(std::move(header)) : std::nullopt;
}

size_t LineHeader::bytes() const {
  return sizeof(*this) + (directories.capacity() + files.capacity()) * sizeof(Name);
}

std::string PathOfFile(const LineHeader& header, const Unit& unit, uint64_t number,
                       WorkBudget& budget) {
  if (number >= header.files.size()) return {};
  const LineHeader::Name& file = header.files[number];
  std::string path = TextOf(unit, file.text, budget);
  if (path.empty()) return {};
  std::string directory;
  if (!path.starts_with('/') && file.directory < header.directories.size())
    directory = TextOf(unit, header.directories[file.directory].text, budget);
  path = Join(directory, path);
  // From DWARF 5 on directory 0 is the unit's own, which may be relative (-ffile-prefix-map).
  const bool is_units_own = header.format.version >= 5 && file.directory == 0 && !directory.empty();
  if (!is_units_own) path = Join(unit.comp_dir, path);
  if (path.size() > kMaxPathBytes) path.resize(kMaxPathBytes);
  return path;
}

}  // namespace stackray::dwarf
