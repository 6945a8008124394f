#include "tests/live/node_runs.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace stackray::test {
namespace {

constexpr std::string_view kFrame = "frame ", kDeno = "deno ";

// What the program says of itself: "v20.20.2", or "deno 2.9.6 (…)".
std::string SaidVersion(const std::string& path) {
  FILE* const pipe = popen(fmt::format("{} --version 2>/dev/null", path).c_str(), "r");
  if (pipe == nullptr) return "";
  char text[64] = {};
  const size_t bytes = fread(text, 1, sizeof(text) - 1, pipe);
  pclose(pipe);
  return std::string(text, bytes);
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

// Node's own name of an internal script has "node:" in front of it from 16 on.
bool IsAnonymous(const std::string& name) { return name.empty() || name == "(anonymous)"; }

}  // namespace

std::vector<std::string> Node::Run(const std::vector<std::string>& options,
                                   const std::string& program,
                                   const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{path};
  if (is_deno) {
    argv.insert(argv.end(), {"run", "-A", "--no-check"});
    if (!options.empty()) argv.push_back(fmt::format("--v8-flags={}", fmt::join(options, ",")));
  } else {
    argv.insert(argv.end(), options.begin(), options.end());
  }
  argv.push_back(STACKRAY_SOURCE_DIR "/tests/live/programs/node/" + program);
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::vector<Node> FindNodes() {
  const char* const asked = std::getenv("STACKRAY_NODES");
  std::vector<Node> nodes;
  for (const std::string& path : Split(asked == nullptr ? "/usr/bin/node" : asked, ',')) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const std::string said = SaidVersion(path);
    const bool is_deno = said.starts_with(kDeno);
    if (!is_deno && !said.starts_with("v")) continue;
    const size_t begin = is_deno ? kDeno.size() : 1;
    const std::string version = said.substr(begin, said.find_first_of(" \n", begin) - begin);
    nodes.push_back({.path = path,
                     .is_deno = is_deno,
                     .major = std::atoi(version.c_str()),
                     .version = version});
  }
  return nodes;
}

bool ScriptFrame::IsEqual(const ScriptFrame& other) const {
  const bool is_same_name =
      IsAnonymous(function) ? IsAnonymous(other.function) : function == other.function;
  return is_same_name && file == other.file && line == other.line && column == other.column;
}

std::string ScriptFrame::Text() const {
  return fmt::format("{} {}:{}:{}", function, file, line, column);
}

std::vector<ScriptFrame> FramesOfCallSites(const std::string& said) {
  std::vector<ScriptFrame> frames;
  for (const std::string& line : Split(said, '\n')) {
    if (!line.starts_with(kFrame)) continue;
    const std::vector<std::string> parts = Split(line.substr(kFrame.size()), '\t');
    if (parts.size() != 4 || parts[1].empty()) continue;
    frames.push_back({.function = parts[0],
                      .file = parts[1],
                      .line = std::atoll(parts[2].c_str()),
                      .column = std::atoll(parts[3].c_str())});
  }
  return frames;
}

}  // namespace stackray::test
