#include "interpreters/v8/plumbing.h"

#include <algorithm>
#include <array>

namespace stackray::v8 {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kPrefixes = {"JSEntry"sv,
                                  "JSConstructEntry"sv,
                                  "InterpreterEnter"sv,
                                  "InterpreterPushArgs"sv,
                                  "Call_"sv,
                                  "CallFunction_"sv,
                                  "CallBoundFunction"sv,
                                  "CallWithArrayLike"sv,
                                  "CallVarargs"sv,
                                  "CallForwardVarargs"sv,
                                  "CallFunctionForwardVarargs"sv,
                                  "CallWithSpread"sv,
                                  "ConstructVarargs"sv,
                                  "ConstructForwardVarargs"sv,
                                  "ConstructFunction"sv,
                                  "ConstructWithSpread"sv,
                                  "ConstructWithArrayLike"sv,
                                  "ConstructBoundFunction"sv,
                                  "JSConstructStub"sv,
                                  "JSBuiltinsConstructStub"sv,
                                  "CEntry_"sv,
                                  "ArgumentsAdaptorTrampoline"sv,
                                  "AdaptorWithBuiltinExitFrame"sv,
                                  "BaselineOutOfLinePrologue"sv,
                                  "BaselineLeaveFrame"sv,
                                  "BaselineOrInterpreterEnter"sv};
constexpr std::array kNames = {"Construct"sv, "HandleApiCallOrConstruct"sv,
                               "Call_ReceiverIsAny_Baseline_Compact"sv};

}  // namespace

bool RunsBytecodes(std::string_view name) { return name.starts_with("InterpreterEntryTrampoline"); }

bool ResumesBytecodes(std::string_view name) {
  return name.starts_with("InterpreterEnterAt") || name.starts_with("InterpreterEnterBytecode") ||
         name.starts_with("BaselineOrInterpreterEnterAt");
}

std::optional<size_t> ResumesAwaiting(std::string_view name) {
  if (name == "AsyncFunctionAwaitResolveClosure") return 0;
  return name == "AsyncFunctionAwaitRejectClosure" ? std::optional<size_t>(1) : std::nullopt;
}

bool GivesUp(std::string_view name) { return name.starts_with("DeoptimizationEntry_"); }

bool IsPlumbing(std::string_view name) {
  // A bytecode's handler is the interpreter's way to run a part of the function.
  if (name.ends_with("Handler")) return true;
  const auto is_begin = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return RunsBytecodes(name) || std::ranges::any_of(kPrefixes, is_begin) ||
         std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace stackray::v8
