#include "reporter/page/page_group_names.h"

#include <algorithm>

namespace stackray {

GroupNames::GroupNames(const PageTables& tables, const std::vector<PageIndex::Ptr>& indexes)
    : tables_(tables) {
  for (const PageIndex::Ptr& index : indexes) {
    GroupSource source{.index = index.get(), .functions = {}, .bits = {}};
    source.functions.reserve(index->functions().size());
    for (const uint32_t function : index->functions())
      source.functions.push_back(Function(function));
    has_masks_ &= index->has_masks();
    sources_.push_back(std::move(source));
  }
  const std::vector<FrameType> types = TypesOf(functions_.items());
  has_masks_ &= types.size() <= kMostFrameTypes;
  if (!has_masks_) return;
  for (GroupSource& source : sources_) {
    std::vector<PageFunction> own;
    own.reserve(source.functions.size());
    for (const uint32_t number : source.functions) own.push_back(functions_[number]);
    for (const FrameType& type : TypesOf(own))
      source.bits.push_back(TypeMask{1} << (std::ranges::find(types, type) - types.begin()));
  }
}

// In the order of their first function, as an index's reader numbers them.
std::vector<GroupNames::FrameType> GroupNames::TypesOf(const std::vector<PageFunction>& functions) {
  std::vector<FrameType> types;
  for (const PageFunction& function : functions) {
    const FrameType type{function.type, function.inlined};
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
    if (types.size() > kMostFrameTypes) break;
  }
  return types;
}

uint32_t GroupNames::Function(uint32_t function) {
  const PageFunction& f = tables_.functions[function];
  return functions_.Intern(
      {.name = Text(f.name), .type = Text(f.type), .file = Text(f.file), .inlined = f.inlined},
      true);
}

uint32_t GroupNames::Process(uint32_t process) {
  const auto [known, fresh] = processes_of_.try_emplace(process, 0);
  if (!fresh) return known->second;
  const ViewProcess& p = tables_.processes[process];
  return known->second = processes_.Intern({.pid = p.pid,
                                            .command = Text(p.command),
                                            .executable = Text(p.executable),
                                            .container = Text(p.container),
                                            .service = Text(p.service),
                                            .creation_time = Text(p.creation_time),
                                            .cgroup = Text(p.cgroup),
                                            .user = Text(p.user)},
                                           true);
}

uint32_t GroupNames::Frame(const GroupSource& source, uint32_t own) {
  const PageFrame frame = source.index->frame(own);
  return frames_.Intern({.function = source.FunctionOf(source.index->OwnFunctionOf(own)),
                         .source = Text(frame.source),
                         .line = frame.line},
                        true);
}

}  // namespace stackray
