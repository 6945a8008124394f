#include "symbolizer/go/go_table.h"

#include <utility>

#include "symbolizer/go/go_function.h"
#include "symbolizer/inlined_cut.h"

namespace stackray {

absl::StatusOr<GoTable> GoTable::Open(const ElfImage& image, const ByteSource& source) {
  absl::StatusOr<GoLayout> layout = FindGoLayout(image, source);
  if (!layout.ok()) return layout.status();
  return GoTable(*layout);
}

std::optional<uint64_t> GoTable::FindFunction(const ByteSource& source,
                                              uint64_t elf_address) const {
  GoReader reader(layout_, source, kStepsOfQuestion);
  return reader.FindFunction(elf_address);
}

std::optional<std::string> GoTable::NameOf(const ByteSource& source, uint64_t function) const {
  GoReader reader(layout_, source, kStepsOfQuestion);
  const std::optional<GoFunction> found = reader.ReadFunction(function);
  if (!found) return std::nullopt;
  std::string name = reader.Name(found->name);
  if (name.empty()) return std::nullopt;
  return name;
}

std::vector<SourceLine> GoTable::Resolve(const ByteSource& source, uint64_t elf_address) const {
  GoReader reader(layout_, source, kStepsOfQuestion);
  const std::optional<uint64_t> number = reader.FindFunction(elf_address);
  const std::optional<GoFunction> function =
      number ? reader.ReadFunction(*number) : std::optional<GoFunction>();
  if (!function) return {};
  const std::string own_name = reader.Name(function->name);
  if (own_name.empty()) return {};
  std::vector<SourceLine> lines;
  uint64_t pc = elf_address - function->entry;
  while (lines.size() < kMaxInlined) {
    SourceLine line = reader.PlaceAt(*function, pc);
    const std::optional<GoInlinedCall> call = reader.InlinedCallAt(*function, pc);
    if (!call) {
      line.function = own_name;
      line.start_line = function->start_line;
      lines.push_back(std::move(line));
      return lines;
    }
    line.function = reader.Name(call->name);
    line.start_line = call->start_line;
    if (line.function.empty()) break;
    lines.push_back(std::move(line));
    pc = call->parent_pc;
  }
  if (lines.size() == kMaxInlined) lines.push_back({.function = InlinedCut::LineText("more")});
  lines.push_back({.function = own_name, .start_line = function->start_line});
  return lines;
}

}  // namespace stackray
