#include "interpreters/hotspot/java_threads.h"

#include <algorithm>

#include "interpreters/paged_memory.h"

namespace stackray::hotspot {
namespace {

constexpr size_t kCommandBytes = 15, kFrontBytes = 7, kBackBytes = 6;

}  // namespace

bool IsShortFor(std::string_view command, std::string_view name) {
  if (command.empty()) return false;
  if (name.substr(0, kCommandBytes) == command) return true;
  return name.size() > kCommandBytes && command.size() == kCommandBytes &&
         command.substr(0, kFrontBytes) == name.substr(0, kFrontBytes) &&
         command.substr(kFrontBytes, 2) == ".." &&
         command.substr(kFrontBytes + 2) == name.substr(name.size() - kBackBytes);
}

uint32_t JavaThreads::TidOf(ProcessMemory& memory, uint64_t thread) const {
  const auto os_thread = ReadNumber<uint64_t>(memory, thread + layout_.threads.os_thread);
  return os_thread == 0 ? 0 : ReadNumber<uint32_t>(memory, os_thread + layout_.threads.id);
}

std::vector<uint64_t> JavaThreads::Addresses(ProcessMemory& memory) const {
  const ThreadLayout& at = layout_.threads;
  std::vector<uint64_t> addresses;
  if (at.list_at != 0 && at.list_length != kNoField && at.list_threads != kNoField) {
    const auto list = ReadNumber<uint64_t>(memory, at.list_at);
    if (list == 0) return {};
    const auto length = ReadNumber<uint32_t>(memory, list + at.list_length);
    const auto threads = ReadNumber<uint64_t>(memory, list + at.list_threads);
    std::vector<uint8_t> bytes(std::min<size_t>(length, kMostThreads) * sizeof(uint64_t));
    if (!memory.Read(threads, bytes)) return {};
    for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t))
      addresses.push_back(NumberAt<uint64_t>(bytes, i));
  } else if (at.first_at != 0 && at.next != kNoField) {
    auto thread = ReadNumber<uint64_t>(memory, at.first_at);
    for (; thread != 0 && addresses.size() < kMostThreads;
         thread = ReadNumber<uint64_t>(memory, thread + at.next))
      addresses.push_back(thread);
  }
  return addresses;
}

void JavaThreads::List(ProcessMemory& memory) {
  threads_.clear();
  const ThreadLayout& at = layout_.threads;
  if (at.os_thread == kNoField || at.id == kNoField || at.object == kNoField) return;
  for (const uint64_t address : Addresses(memory))
    if (const uint32_t tid = TidOf(memory, address); tid != 0)
      threads_.push_back({.tid = tid, .address = address});
  std::ranges::sort(threads_, {}, &Thread::tid);
}

std::optional<std::string> JavaThreads::NameOf(ProcessMemory& memory, uint32_t tid,
                                               std::string_view command) {
  const auto thread = std::ranges::lower_bound(threads_, tid, {}, &Thread::tid);
  if (thread == threads_.end() || thread->tid != tid) return std::nullopt;
  const uint64_t object = thread->address + layout_.threads.object;
  const uint64_t at = layout_.threads.is_handle ? ReadNumber<uint64_t>(memory, object) : object;
  const std::optional<JavaHeap::ThreadName> name =
      at == 0 ? std::nullopt : heap_.NameOfThread(memory, at);
  // Its JavaThread may be another thread's by now.
  if (!name || TidOf(memory, thread->address) != tid) return std::nullopt;
  if (name->may_be_old && !IsShortFor(command, name->text)) return std::nullopt;
  return name->text;
}

}  // namespace stackray::hotspot
