#include "agent/sampling/java_program.h"

#include <algorithm>
#include <array>

namespace stackray {
namespace {

constexpr size_t kMostNameBytes = 255;

// Options of the launcher whose value is the next argument (java(1), JDK 8 to 28).
constexpr std::array<std::string_view, 16> kWithValue = {"-cp",
                                                         "-classpath",
                                                         "--class-path",
                                                         "-p",
                                                         "--module-path",
                                                         "--add-reads",
                                                         "--upgrade-module-path",
                                                         "--add-modules",
                                                         "--add-exports",
                                                         "--add-opens",
                                                         "--patch-module",
                                                         "--limit-modules",
                                                         "--source",
                                                         "--describe-module",
                                                         "-d",
                                                         "--enable-native-access"};

std::string_view TakeArgument(std::string_view* rest) {
  const size_t end = std::min(rest->find('\0'), rest->size());
  const std::string_view argument = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return argument;
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view WithoutEnding(std::string_view name, std::string_view ending) {
  if (name.size() > ending.size() && name.ends_with(ending)) name.remove_suffix(ending.size());
  return name;
}

// A class's name, or the file of a program of one source file.
std::string_view ClassOf(std::string_view argument) {
  return argument.ends_with(".java") ? WithoutEnding(LastPart(argument), ".java") : argument;
}

std::string Checked(std::string_view name) {
  const auto is_text = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; };
  if (name.size() > kMostNameBytes || !std::ranges::all_of(name, is_text)) return {};
  return std::string(name);
}

}  // namespace

bool IsJavaLauncher(std::string_view executable_path) {
  return LastPart(executable_path) == "java";
}

std::string JavaProgramOf(std::string_view command_line) {
  std::string_view rest = command_line;
  TakeArgument(&rest);
  while (!rest.empty()) {
    const std::string_view argument = TakeArgument(&rest);
    if (argument == "-jar") return Checked(WithoutEnding(LastPart(TakeArgument(&rest)), ".jar"));
    if (argument == "-m" || argument == "--module") return Checked(LastPart(TakeArgument(&rest)));
    if (argument.starts_with("--module=")) return Checked(LastPart(argument.substr(9)));
    if (argument.starts_with('@')) return {};
    if (!argument.starts_with('-')) return Checked(ClassOf(argument));
    if (std::ranges::find(kWithValue, argument) != kWithValue.end()) TakeArgument(&rest);
  }
  return {};
}

}  // namespace stackray
