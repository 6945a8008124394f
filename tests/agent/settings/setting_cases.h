// Every setting with three values, one wrong value, its defaults, and where its struct holds it.
#ifndef STACKRAY_TESTS_AGENT_SETTINGS_SETTING_CASES_H_
#define STACKRAY_TESTS_AGENT_SETTINGS_SETTING_CASES_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/settings/command_line.h"

namespace stackray {

// A value as written and what the struct must hold then.
struct Sample {
  std::string text, meaning;
};

struct Case {
  std::string default_record, default_agent;  // What the struct holds when nobody says anything.
  Sample file, variable, flag;                // Three different ones; switches use true/false only.
  std::string bad;
  std::function<std::string(const CommandLine&)> read;
  std::optional<std::string> default_capture{};  // Where it is another than record's.
};

// By the setting's key.
std::map<std::string_view, Case> Cases();
// Of these, those of the agent's own traces, and those of files.
std::map<std::string_view, Case> TracesCases();
std::map<std::string_view, Case> FileCases();
// Of check, convert and view: which samples are wanted.
std::string FilterText(const CommandLine& line);

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_SETTINGS_SETTING_CASES_H_
