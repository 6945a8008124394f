#include "agent/dump/thread_stacks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

using Stacks = absl::flat_hash_map<uint32_t, std::vector<StackFrame>>;

void AppendFrame(const WalkedFrame& frame, std::vector<StackFrame>* frames) {
  StackFrame one{.type = std::string(frame.type),
                 .function = {},
                 .file = {},
                 .module = PrintableText(frame.mapping_path),
                 .address = frame.address};
  for (size_t i = 0; i < frame.lines.size(); ++i) {
    const WalkedLine& line = frame.lines[i];
    one.function = PrintableText(line.function);
    one.file = PrintableText(line.file);
    one.line = line.line;
    one.is_inlined = i + 1 < frame.lines.size();
    frames->push_back(one);
  }
  if (frame.lines.empty()) frames->push_back(std::move(one));
}

// Of a thread with several samples the newest holds.
void Read(const SealedBatchPtr& batch, Stacks* stacks,
          absl::flat_hash_map<uint32_t, int64_t>* newest) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(batch->bytes);
  if (!walk.ok()) return;
  std::vector<uint32_t> indices;
  WalkedFrame frame;
  walk->Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
              [&](const WalkedSample& sample) {
                int64_t time = 0;
                for (const int64_t at : sample.timestamps_unix_ns) time = std::max(time, at);
                const auto tid = static_cast<uint32_t>(sample.tid);
                const auto [last, is_new] = newest->try_emplace(tid, time);
                if (!is_new && last->second > time) return;
                last->second = time;
                std::vector<StackFrame>& frames = (*stacks)[tid];
                frames.clear();
                walk->ReadStack(sample.stack, &indices);
                for (const uint32_t index : indices) {
                  walk->ReadFrame(index, &frame);
                  AppendFrame(frame, &frames);
                }
              });
}

std::string_view HowWord(DumpedThread::How how) {
  switch (how) {
    case DumpedThread::How::kRead: return "read";
    case DumpedThread::How::kSampled: return "sampled";
    case DumpedThread::How::kLast: return "last";
    case DumpedThread::How::kMissing: return "missing";
  }
  return "missing";
}

std::string FrameText(const StackFrame& frame) {
  std::string text = frame.function;
  if (text.empty())
    text = frame.module.empty() ? fmt::format("{:#x}", frame.address)
                                : fmt::format("[{}+{:#x}]", frame.module, frame.address);
  if (frame.is_inlined) text += " [inlined]";
  if (frame.type == "kernel") text += " [kernel]";
  if (!frame.file.empty())
    text += frame.line == 0 ? fmt::format("  {}", frame.file)
                            : fmt::format("  {}:{}", frame.file, frame.line);
  else if (!frame.module.empty() && !frame.function.empty() && frame.type != "kernel")
    text += fmt::format("  {}", frame.module);
  return text;
}

std::string StateText(const ThreadStack& stack) {
  switch (stack.thread.how) {
    case DumpedThread::How::kRead: return std::string(ThreadStateWord(stack.thread.state));
    case DumpedThread::How::kSampled: return "running, at its next tick";
    case DumpedThread::How::kLast: return "where the signal ended it";
    case DumpedThread::How::kMissing:
      return "no stack: it ran each time that it was looked at, or has ended";
  }
  return "";
}

nlohmann::ordered_json FrameJson(const StackFrame& frame) {
  nlohmann::ordered_json json = {{"type", frame.type}};
  if (!frame.function.empty()) json["function"] = frame.function;
  if (!frame.file.empty()) json["file"] = frame.file;
  if (frame.line != 0) json["line"] = frame.line;
  if (!frame.module.empty()) json["module"] = frame.module;
  if (frame.address != 0) json["address"] = fmt::format("{:#x}", frame.address);
  if (frame.is_inlined) json["inlined"] = true;
  return json;
}

}  // namespace

std::string_view ThreadStateWord(uint32_t state) {
  if (state == 0) return "ready to run";
  if ((state & 0x4) != 0) return "stopped";
  if ((state & 0x8) != 0) return "stopped by a tracer";
  if ((state & 0x402) == 0x402) return "idle";
  if ((state & 0x2) != 0) return "disk sleep";
  if ((state & 0x1) != 0) return "sleeping";
  return "ending";
}

std::vector<ThreadStack> StacksOf(const ProcessDump& dump) {
  Stacks read, sampled;
  absl::flat_hash_map<uint32_t, int64_t> newest_read, newest_sampled;
  for (const SealedBatchPtr& batch : dump.read) Read(batch, &read, &newest_read);
  for (const SealedBatchPtr& batch : dump.sampled) Read(batch, &sampled, &newest_sampled);
  std::vector<ThreadStack> stacks;
  stacks.reserve(dump.threads.size());
  for (const DumpedThread& thread : dump.threads) {
    ThreadStack stack{.thread = thread, .frames = {}};
    Stacks& from = thread.how == DumpedThread::How::kRead ? read : sampled;
    if (const auto found = from.find(thread.tid);
        found != from.end() && thread.how != DumpedThread::How::kMissing)
      stack.frames = std::move(found->second);
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

std::string DumpText(const ProcessDump& dump) {
  const std::vector<ThreadStack> stacks = StacksOf(dump);
  std::string text = fmt::format("process {} {}, {} threads\n", dump.pid,
                                 PrintableText(dump.command), stacks.size());
  for (const ThreadStack& stack : stacks) {
    text += fmt::format("\nthread {} {}: {}\n", stack.thread.tid, PrintableText(stack.thread.name),
                        StateText(stack));
    for (size_t i = 0; i < stack.frames.size(); ++i)
      text += fmt::format("  #{:<3} {}\n", i, FrameText(stack.frames[i]));
  }
  return text;
}

std::string DumpJson(const ProcessDump& dump) {
  nlohmann::ordered_json threads = nlohmann::ordered_json::array();
  for (const ThreadStack& stack : StacksOf(dump)) {
    nlohmann::ordered_json frames = nlohmann::ordered_json::array();
    for (const StackFrame& frame : stack.frames) frames.push_back(FrameJson(frame));
    threads.push_back({{"tid", stack.thread.tid},
                       {"name", PrintableText(stack.thread.name)},
                       {"state", stack.thread.how == DumpedThread::How::kRead
                                     ? std::string(ThreadStateWord(stack.thread.state))
                                     : "running"},
                       {"stack", HowWord(stack.thread.how)},
                       {"frames", std::move(frames)}});
  }
  const nlohmann::ordered_json document = {{"pid", dump.pid},
                                           {"command", PrintableText(dump.command)},
                                           {"time_unix_ns", std::to_string(dump.time_unix_ns)},
                                           {"threads", std::move(threads)}};
  return document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace stackray
