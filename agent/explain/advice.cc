#include "agent/explain/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/explain/debug_package.h"
#include "agent/explain/jit_flags.h"
#include "agent/sampling/markers.h"
#include "bpf/shared/end_reason.h"
#include "interpreters/jit/jit_file.h"

namespace stackray {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsVdso(const CodeFacts& facts) { return facts.path == "[vdso]"; }

// Ways to debug symbols of a file.
std::vector<std::string> WaysToSymbols(const Explanation& explanation, const CodeFacts& facts) {
  std::vector<std::string> ways;
  const std::string command = DebugSymbolsCommand(facts.distribution, facts.package, facts.path);
  if (!command.empty()) ways.push_back(command);
  if (!facts.build_id.empty())
    ways.push_back(fmt::format("its debug file as /usr/lib/debug/.build-id/{}/{}.debug",
                               facts.build_id.substr(0, 2), facts.build_id.substr(2)));
  if (!facts.build_id.empty())
    ways.emplace_back(explanation.asks_debuginfod
                          ? "debuginfod does not have it (yet): try again in a minute"
                          : "--debuginfod on, where DEBUGINFOD_URLS names a server");
  if (facts.package.empty())
    ways.emplace_back("if it is your own program: build it with -g, and keep it unstripped");
  return ways;
}

Advice StrippedAdvice(const Explanation& explanation, const CodeFacts& facts,
                      const SampledCode& code, bool wants_lines) {
  const int64_t unnamed = code.frames - code.named;
  std::string reason = fmt::format(
      "{}: it is stripped, and {}", BaseName(facts.path),
      facts.has_dynsym ? "only what it exports has names left" : "no names are left in it");
  if (unnamed > 0) reason += fmt::format("; {} frames have no name", unnamed);
  if (wants_lines) reason += fmt::format("; {} have no source line", code.frames - code.with_lines);
  return {.weight = wants_lines ? code.frames - code.with_lines : unnamed,
          .reason = std::move(reason),
          .helps = WaysToSymbols(explanation, facts)};
}

Advice UncoveredAdvice(const CodeFacts& facts, const SampledCode& code) {
  const auto most =
      std::max_element(code.unnamed.begin(), code.unnamed.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return {.weight = code.frames - code.named,
          .reason = fmt::format("{}: {} frames are in code that no symbol covers, most at 0x{:x} "
                                "({} of them)",
                                BaseName(facts.path), code.frames - code.named, most->first,
                                most->second)};
}

// Of a file whose functions have names.
Advice LinesAdvice(const Explanation& explanation, const CodeFacts& facts,
                   const SampledCode& code) {
  const int64_t without = code.frames - code.with_lines;
  if (!facts.has_lines())
    return {.weight = without,
            .reason = fmt::format("{}: {} frames have no source lines and no inlined functions: "
                                  "there is no debug information",
                                  BaseName(facts.path), without),
            .helps = WaysToSymbols(explanation, facts)};
  return {
      .weight = without,
      .reason = fmt::format("{}: its debug information says nothing of {} frames: that code was "
                            "built without -g",
                            BaseName(facts.path), without)};
}

void NameAdvice(const Explanation& explanation, const CodeFacts& facts, const SampledCode& code,
                std::vector<Advice>* advice) {
  const bool wants_lines =
      explanation.symbols == SymbolPolicy::kFull && code.frames > code.with_lines;
  const bool has_names = facts.has_symtab || facts.has_go_table || !facts.debug_file.empty() ||
                         facts.has_packed_symbols;
  if (!has_names) {
    advice->push_back(StrippedAdvice(explanation, facts, code, wants_lines));
    return;
  }
  if (code.frames > code.named) advice->push_back(UncoveredAdvice(facts, code));
  // A few lines are missing everywhere: code that the compiler made itself.
  if (wants_lines && code.with_lines * 10 < code.frames * 9)
    advice->push_back(LinesAdvice(explanation, facts, code));
}

// What a truncation means where it stands behind code of this file.
std::vector<std::string> WaysToWholeStacks(std::string_view reason, const CodeFacts* facts) {
  const bool has_table = facts != nullptr && (facts->unwind == UnwindSource::kEhFrame ||
                                              facts->unwind == UnwindSource::kDebugFrame ||
                                              facts->unwind == UnwindSource::kSframe);
  if (reason == TruncationReason(END_TOO_DEEP)) return {"deeper stacks are not taken"};
  if (reason == TruncationReason(END_COMPAT_TASK)) return {"32-bit programs are not unwound"};
  if (reason == TruncationReason(END_UNKNOWN_FILE) || reason == TruncationReason(END_MISSING_PAGE))
    return {"more memory for stacks that wait for their tables: --raw-slices"};
  if (facts == nullptr) return {};  // No compiler's flag changes what a runtime makes.
  if (has_table)
    return {"some of its code has no entry in the table: assembler without CFI directives"};
  if (facts->unwind == UnwindSource::kGo) return {};
  return {"build it with -fasynchronous-unwind-tables (gcc's and clang's default on x86-64)",
          "or build it with -fno-omit-frame-pointer"};
}

std::string CutReason(std::string_view name, int64_t stacks, std::string_view reason) {
  return fmt::format("{}: {} early there: [truncated: {}]", name,
                     stacks == 1 ? "1 stack ends" : fmt::format("{} stacks end", stacks), reason);
}

void CutAdvice(const std::string& name, const CodeFacts* facts,
               const absl::btree_map<std::string, int64_t>& cuts, std::vector<Advice>* advice) {
  for (const auto& [reason, stacks] : cuts)
    advice->push_back({.weight = stacks,
                       .is_cut = true,
                       .reason = CutReason(name, stacks, reason),
                       .helps = WaysToWholeStacks(reason, facts)});
}

JitSaid SaidOf(const Explanation& explanation) {
  const JitCounts& jit = explanation.jit;
  return {.command_line = explanation.command_line,
          .place = explanation.perf_map_place,
          .has_perf_map = jit.perf_maps > 0,
          .is_read = jit.functions > 0,
          .is_refused = !jit.refused.empty()};
}

// Of frames in code made at run time that nothing names.
Advice UnknownCodeAdvice(const Explanation& explanation) {
  Advice advice{.weight = explanation.sampled.unknown_code,
                .is_cut = false,
                .reason = fmt::format("{} frames are in code made at run time (JIT) that nothing "
                                      "names",
                                      explanation.sampled.unknown_code),
                .helps = WaysToJitNames(explanation.code.files, SaidOf(explanation))};
  for (const auto& [why, files] : explanation.jit.refused)
    advice.helps.push_back(fmt::format("a file with names was refused: {}", why));
  return advice;
}

// Of stacks that end in code made at run time.
void UnknownCodeCutAdvice(const Explanation& explanation, std::vector<Advice>* advice) {
  const bool is_java = std::ranges::any_of(explanation.code.files, [](const CodeFacts& facts) {
    return BaseName(facts.path) == "libjvm.so";
  });
  for (const auto& [reason, stacks] : explanation.sampled.unknown_code_cuts)
    advice->push_back(
        {.weight = stacks,
         .is_cut = true,
         .reason = CutReason("code made at run time (JIT)", stacks, reason),
         .helps = {is_java ? "a JVM of HotSpot from JDK 8 on, on x86-64; arm64 is not walked yet"
                           : "a compiler at run time whose code keeps frame pointers"}});
}

// Samples know an unreadable file by its inode alone. A jitdump is mapped as a mark: it never runs.
// A memory file that is no ELF is JIT code, which has an advice of its own.
std::vector<std::string> UnreadableFiles(const Explanation& explanation) {
  std::vector<std::string> files;
  for (const CodeFacts& facts : explanation.code.files)
    if (!facts.problem.empty() && !explanation.sampled.by_executable.contains(facts.path) &&
        !IsJitDumpPath(facts.path) && !IsMemoryFilePath(facts.path))
      files.push_back(fmt::format("{} cannot be read: {}", facts.path, facts.problem));
  return files;
}

// Of frames whose file was not opened.
void NoFileAdvice(const Explanation& explanation, const SampledCode& code,
                  std::vector<Advice>* advice) {
  const std::vector<std::string> unreadable = UnreadableFiles(explanation);
  if (unreadable.empty()) {
    const bool has_jit = explanation.jit.functions > 0;
    return CutAdvice(has_jit ? "JIT code" : "files that are gone", nullptr, code.cuts, advice);
  }
  const std::string name = "files that cannot be read";
  advice->push_back({.weight = code.frames,
                     .reason = fmt::format("{}: {} frames have no name", name, code.frames),
                     .helps = unreadable});
  for (const auto& [reason, stacks] : code.cuts)
    advice->push_back({.weight = stacks,
                       .is_cut = true,
                       .reason = CutReason(name, stacks, reason),
                       .helps = unreadable});
}

void FileAdvice(const Explanation& explanation, std::vector<Advice>* advice) {
  for (const CodeFacts& facts : explanation.code.files) {
    const auto found = explanation.sampled.by_executable.find(facts.path);
    if (found == explanation.sampled.by_executable.end() || IsVdso(facts)) continue;
    if (!facts.problem.empty())
      advice->push_back(
          {.weight = found->second.frames,
           .reason = fmt::format("{}: cannot be read: {}", BaseName(facts.path), facts.problem)});
    NameAdvice(explanation, facts, found->second, advice);
    CutAdvice(BaseName(facts.path), &facts, found->second.cuts, advice);
  }
}

// Java keeps no place of most instructions unless it is told to, so a leaf has its neighbour's
// inlined functions. A few samples in a thousand show it: as many frames it weighs.
void InlinedJavaAdvice(const Explanation& explanation, std::vector<Advice>* advice) {
  constexpr int64_t kFramesForOneWrong = 200;
  const auto java = explanation.sampled.by_kind.find("jvm");
  if (java == explanation.sampled.by_kind.end() ||
      explanation.command_line.find("DebugNonSafepoints") != std::string::npos)
    return;
  advice->push_back(
      {.weight = java->second.frames / kFramesForOneWrong,
       .reason = "Java: the innermost inlined function and line of a sample may be a neighbour's, "
                 "because the JVM notes few places of compiled code",
       .helps = {"-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints, at its start"}});
}

}  // namespace

std::vector<Advice> AdviceFor(const Explanation& explanation) {
  std::vector<Advice> advice;
  const SampledProcess& sampled = explanation.sampled;
  if (explanation.symbols == SymbolPolicy::kOff) {
    advice.push_back({.weight = sampled.user_frames(),
                      .reason = "native code has no names: --symbols off",
                      .helps = {"--symbols symtab, or --symbols full"}});
  } else {
    FileAdvice(explanation, &advice);
  }
  if (explanation.symbols == SymbolPolicy::kSymtab)
    advice.push_back({.weight = sampled.user_frames(),
                      .reason = "there are no source lines and no inlined functions: "
                                "--symbols symtab",
                      .helps = {"--symbols full"}});
  if (sampled.unknown_code > 0) advice.push_back(UnknownCodeAdvice(explanation));
  UnknownCodeCutAdvice(explanation, &advice);
  InlinedJavaAdvice(explanation, &advice);
  for (const auto& [kind, code] : sampled.by_kind) {
    if (kind == "native") {
      NoFileAdvice(explanation, code, &advice);
    } else {
      CutAdvice(kind, nullptr, code.cuts, &advice);
    }
  }
  CutAdvice("where no frame is known", nullptr, sampled.other_cuts, &advice);
  const int64_t unnamed_kernel = sampled.kernel.frames - sampled.kernel.named;
  advice.push_back({.weight = unnamed_kernel,
                    .reason = fmt::format("kernel: {} frames have no name", unnamed_kernel),
                    .helps = {"sysctl kernel.kptr_restrict=1, and run as root"}});
  std::erase_if(advice, [&](const Advice& one) {
    return one.weight == 0 ||
           one.weight * 1000 < (one.is_cut ? sampled.sums.user_stacks : sampled.user_frames());
  });
  std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) {
    return a.is_cut != b.is_cut ? a.is_cut : a.weight > b.weight;
  });
  return advice;
}

}  // namespace stackray
