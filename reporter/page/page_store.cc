#include "reporter/page/page_store.h"

#include <algorithm>
#include <cmath>

#include "reporter/formats/text.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr size_t kContainerUnits = 12;  // Of an id; the rest tells nobody anything.

}  // namespace

std::string PageStore::CommandLabel(uint32_t process) const {
  const ViewProcess& p = tables_.processes[process];
  if (p.command != 0) return std::string(Text(p.command));
  return p.pid == 0 ? "[host]" : "[no name]";
}

std::string PageStore::ProcessLabel(uint32_t process) const {
  const int64_t pid = tables_.processes[process].pid;
  return pid > 0 ? Concat(CommandLabel(process), " (", pid, ")") : CommandLabel(process);
}

std::string PageStore::ProcessKeyOf(uint32_t process) const {
  const ViewProcess& p = tables_.processes[process];
  return Concat(p.pid, " ", Text(p.command));
}

std::string PageStore::ThreadLabel(uint32_t thread) const {
  const PageThread& t = tables_.threads[thread];
  if (t.tid == 0) return "whole process";
  return Concat(t.name == 0 ? "[no name]" : Text(t.name), " (", t.tid, ")");
}

std::string PageStore::ThreadKeyOf(uint32_t thread) const {
  const PageThread& t = tables_.threads[thread];
  return Concat(ProcessKeyOf(t.process), " ", t.tid);
}

std::string PageStore::ClassGroupLabel(uint32_t process, PageGrouping grouping) const {
  const ViewProcess& p = tables_.processes[process];
  const auto or_none = [&](uint32_t text, std::string_view none) {
    return std::string(text == 0 ? none : Text(text));
  };
  switch (grouping) {
    case PageGrouping::kCommand: return CommandLabel(process);
    case PageGrouping::kContainer:
      return ToValidUtf8(or_none(p.container, "[no container]")
                             .substr(0, p.container == 0 ? std::string::npos : kContainerUnits));
    case PageGrouping::kService: return or_none(p.service, "[no service]");
    case PageGrouping::kCgroup: return or_none(p.cgroup, "[no cgroup]");
    case PageGrouping::kUser: return or_none(p.user, "[no user]");
    case PageGrouping::kProcess:
    case PageGrouping::kThread:
    case PageGrouping::kNone: return "";
  }
  return "";
}

std::string PageStore::GroupLabel(uint32_t thread, PageGrouping grouping) const {
  const uint32_t process = tables_.threads[thread].process;
  if (grouping == PageGrouping::kProcess) return ProcessLabel(process);
  if (grouping == PageGrouping::kThread)
    return Concat(ThreadLabel(thread), " of ", ProcessLabel(process));
  return ClassGroupLabel(process, grouping);
}

void AddSummaryShare(const ProfileSummary& from, double share, ProfileSummary* to) {
  const auto part = [&](int64_t number) {
    return share >= 1 ? number : std::llround(static_cast<double>(number) * share);
  };
  to->type = from.type;
  to->unit = from.unit;
  for (int64_t ProfileSummary::*const field :
       {&ProfileSummary::samples, &ProfileSummary::value, &ProfileSummary::lost,
        &ProfileSummary::outside, &ProfileSummary::user_stacks, &ProfileSummary::complete,
        &ProfileSummary::through_unknown, &ProfileSummary::user_frames, &ProfileSummary::user_named,
        &ProfileSummary::kernel_frames, &ProfileSummary::kernel_named})
    to->*field = SaturatingAdd(to->*field, int64_t{part(from.*field)});
  int64_t jit = part(from.unnamed.frames(NoName::kJit));
  for (const auto& [command, frames] : from.unnamed.jit_commands()) {
    to->unnamed.Add(NoName::kJit, std::min<int64_t>(part(frames), jit), command);
    jit -= std::min<int64_t>(jit, part(frames));
  }
  to->unnamed.Add(NoName::kJit, jit, "");
  for (size_t i = 0; i < kNoNameKinds; ++i)
    if (static_cast<NoName>(i) != NoName::kJit)
      to->unnamed.Add(static_cast<NoName>(i), part(from.unnamed.frames(static_cast<NoName>(i))),
                      "");
}

}  // namespace stackray
