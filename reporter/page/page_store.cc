#include "reporter/page/page_store.h"

#include <algorithm>

#include "reporter/formats/text.h"

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

std::string PageStore::GroupLabel(uint32_t thread, PageGrouping grouping) const {
  const uint32_t process = tables_.threads[thread].process;
  const ViewProcess& p = tables_.processes[process];
  switch (grouping) {
    case PageGrouping::kCommand: return CommandLabel(process);
    case PageGrouping::kProcess: return ProcessLabel(process);
    case PageGrouping::kThread: return Concat(ThreadLabel(thread), " of ", ProcessLabel(process));
    case PageGrouping::kContainer:
      return p.container == 0 ? "[no container]"
                              : ToValidUtf8(Text(p.container).substr(0, kContainerUnits));
    case PageGrouping::kService:
      return p.service == 0 ? "[no service]" : std::string(Text(p.service));
    case PageGrouping::kNone: return "";
  }
  return "";
}

}  // namespace stackray
