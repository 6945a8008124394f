#include "agent/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "agent/explain/advice.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

// What was sampled of a file; nothing where it did not run.
const SampledCode& SampledOf(const Explanation& explanation, const std::string& path) {
  static const SampledCode nothing;
  const auto found = explanation.sampled.by_executable.find(path);
  return found == explanation.sampled.by_executable.end() ? nothing : found->second;
}

std::string Share(int64_t part, int64_t whole) { return whole == 0 ? "-" : Percent(part, whole); }

struct KindText {
  std::string_view unwind, naming;
};

// Of frames without an executable.
KindText TextOf(std::string_view kind) {
  if (kind == "native") return {"", "file not to be had"};
  if (kind == "jvm") return {"the JVM's own tables", "the process's memory"};
  if (kind == "v8js") return {"V8's frames", "the process's memory"};
  if (kind == "abort-marker") return {"", "not to be read"};
  return {"the interpreter's frames", "the process's memory"};
}

std::string_view UnwindText(UnwindSource source) {
  switch (source) {
    case UnwindSource::kEhFrame: return ".eh_frame";
    case UnwindSource::kDebugFrame: return ".debug_frame";
    case UnwindSource::kSframe: return "SFrame";
    case UnwindSource::kGo: return "Go's table of functions";
    case UnwindSource::kNone: return "no table: its instructions";
    case UnwindSource::kUnknown: return "not readable";
  }
  return "";
}

std::string Summary(const Explanation& explanation) {
  const SampledProcess& sampled = explanation.sampled;
  std::string text =
      fmt::format("{} (process {}): {} samples in {:.1f} s\n", PrintableText(explanation.command),
                  explanation.pid, sampled.sums.samples, explanation.seconds);
  if (sampled.sums.samples == 0)
    return text + "It did not run on a CPU meanwhile, so only its files can be told.\n";
  int64_t lines = 0, inlined = 0;
  for (const auto* part : {&sampled.by_executable, &sampled.by_kind}) {
    for (const auto& [name, code] : *part) {
      lines += code.with_lines;
      inlined += code.inlined;
    }
  }
  const int64_t without = sampled.sums.samples - sampled.sums.user_stacks;
  text += fmt::format(
      "stacks: {} of {} complete ({}){}{}, {:.1f} frames on average\n", sampled.sums.complete,
      sampled.sums.user_stacks, Share(sampled.sums.complete, sampled.sums.user_stacks),
      sampled.sums.through_unknown == 0
          ? ""
          : fmt::format(", {} more through code of no file", sampled.sums.through_unknown),
      without == 0 ? "" : fmt::format(", {} samples have none", without),
      sampled.sums.user_stacks == 0 ? 0.0
                                    : static_cast<double>(sampled.user_frames()) /
                                          static_cast<double>(sampled.sums.user_stacks));
  text += fmt::format("frames: {} of {} named ({}), {} with source lines; {} inlined functions\n",
                      sampled.sums.user_named, sampled.user_frames(),
                      Share(sampled.sums.user_named, sampled.user_frames()),
                      Share(lines, sampled.user_frames()), inlined);
  if (explanation.guessed > 0)
    text += fmt::format(
        "{} stacks have a frame whose caller was found by frame pointers, where no "
        "table says how\n",
        explanation.guessed);
  return text;
}

void Row(std::string_view share, std::string_view what, std::string_view unwind,
         std::string_view naming, const SampledCode& code, std::string* text) {
  *text += fmt::format("{:>8}  {:<38}  {:<24}  {:<38}  {:>8}  {:>8}\n", share, what, unwind, naming,
                       Share(code.named, code.frames), Share(code.with_lines, code.frames));
}

// The end of a long path is what tells files apart.
std::string Short(const std::string& path) {
  constexpr size_t kColumns = 38;
  if (path.size() <= kColumns) return PrintableText(path);
  return PrintableText("..." + path.substr(path.size() - kColumns + 3));
}

std::vector<const CodeFacts*> ByWeight(const Explanation& explanation) {
  std::vector<const CodeFacts*> files;
  for (const CodeFacts& facts : explanation.code.files) files.push_back(&facts);
  std::stable_sort(files.begin(), files.end(), [&](const CodeFacts* a, const CodeFacts* b) {
    return SampledOf(explanation, a->path).frames > SampledOf(explanation, b->path).frames;
  });
  return files;
}

std::string Table(const Explanation& explanation, const std::vector<const CodeFacts*>& files) {
  const SampledProcess& sampled = explanation.sampled;
  std::string text = fmt::format("\n{:>8}  {:<38}  {:<24}  {:<38}  {:>8}  {:>8}\n", "frames",
                                 "executable", "unwound by", "named by", "named", "lines");
  size_t idle = 0;
  for (const CodeFacts* facts : files) {
    const SampledCode& code = SampledOf(explanation, facts->path);
    if (code.frames == 0 && sampled.sums.samples > 0) {
      ++idle;
      continue;
    }
    Row(Share(code.frames, sampled.user_frames()), Short(facts->path), UnwindText(facts->unwind),
        NamingOf(*facts, explanation.symbols), code, &text);
  }
  for (const auto& [path, code] : sampled.by_executable) {
    const bool known = std::any_of(files.begin(), files.end(),
                                   [&](const CodeFacts* facts) { return facts->path == path; });
    if (!known)
      Row(Share(code.frames, sampled.user_frames()), Short(path), "gone meanwhile", "", code,
          &text);
  }
  for (const auto& [kind, code] : sampled.by_kind)
    Row(Share(code.frames, sampled.user_frames()), fmt::format("({})", kind), TextOf(kind).unwind,
        TextOf(kind).naming, code, &text);
  if (sampled.unknown_code > 0)
    text += fmt::format(
        "{:>8}  code made at run time (JIT): {} frames, unwound by frame pointers, "
        "without names\n",
        Share(sampled.unknown_code, sampled.user_frames()), sampled.unknown_code);
  if (sampled.kernel.frames > 0)
    text += fmt::format("{:>8}  {:<38}  {:<24}  {:<38}  {:>8}  {:>8}\n", "", "(kernel)",
                        "the kernel's own", "/proc/kallsyms",
                        Share(sampled.kernel.named, sampled.kernel.frames), "-");
  if (idle > 0) text += fmt::format("{:>8}  other mapped files, which did not run: {}\n", "", idle);
  return text;
}

}  // namespace

std::string NamingOf(const CodeFacts& facts, SymbolPolicy symbols) {
  if (symbols == SymbolPolicy::kOff) return "not asked for (--symbols off)";
  std::vector<std::string_view> names;
  const bool full = symbols == SymbolPolicy::kFull;
  if (facts.has_symtab) names.emplace_back("symbol table");
  if (facts.has_go_table) names.emplace_back("Go's table");
  if (full && facts.has_debug_info) names.emplace_back("debug information");
  if (full && !facts.debug_file.empty()) names.emplace_back("debug file");
  if (full && facts.has_packed_symbols && !facts.has_symtab && facts.debug_file.empty())
    names.emplace_back(".gnu_debugdata");
  if (names.empty()) return facts.has_dynsym ? "exported symbols only" : "nothing";
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string RenderExplanation(const Explanation& explanation) {
  const std::vector<const CodeFacts*> files = ByWeight(explanation);
  std::string text = Summary(explanation) + Table(explanation, files);
  if (explanation.sampled.sums.samples == 0) return text;
  std::string reasons;
  for (const Advice& advice : AdviceFor(explanation)) {
    reasons += fmt::format("  {}\n", PrintableText(advice.reason));
    for (const std::string& help : advice.helps)
      reasons += fmt::format("    -> {}\n", PrintableText(help));
  }
  if (reasons.empty()) return text + "\nNothing is missing.\n";
  return text + "\nWhy not better, and what would help:\n" + reasons;
}

}  // namespace stackray
