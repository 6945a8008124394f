#include "interpreters/hotspot/language_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "interpreters/utf8.h"

namespace stackray::hotspot {
namespace {

using Spelling = std::pair<std::string_view, char>;

// scala.reflect.NameTransformer of Scala 2.13.
constexpr std::array<Spelling, 18> kScala = {{{"$tilde", '~'},
                                              {"$eq", '='},
                                              {"$less", '<'},
                                              {"$greater", '>'},
                                              {"$bang", '!'},
                                              {"$hash", '#'},
                                              {"$percent", '%'},
                                              {"$up", '^'},
                                              {"$amp", '&'},
                                              {"$bar", '|'},
                                              {"$times", '*'},
                                              {"$div", '/'},
                                              {"$plus", '+'},
                                              {"$minus", '-'},
                                              {"$colon", ':'},
                                              {"$bslash", '\\'},
                                              {"$qmark", '?'},
                                              {"$at", '@'}}};
// clojure.lang.Compiler.CHAR_MAP of Clojure 1.12; a single '_' is '-'.
constexpr std::array<Spelling, 22> kClojure = {
    {{"_COLON_", ':'},     {"_PLUS_", '+'},         {"_GT_", '>'},      {"_LT_", '<'},
     {"_EQ_", '='},        {"_TILDE_", '~'},        {"_BANG_", '!'},    {"_CIRCA_", '@'},
     {"_SHARP_", '#'},     {"_SINGLEQUOTE_", '\''}, {"_PERCENT_", '%'}, {"_CARET_", '^'},
     {"_AMPERSAND_", '&'}, {"_STAR_", '*'},         {"_BAR_", '|'},     {"_LBRACE_", '{'},
     {"_RBRACE_", '}'},    {"_LBRACK_", '['},       {"_RBRACK_", ']'},  {"_SLASH_", '/'},
     {"_BSLASH_", '\\'},   {"_QMARK_", '?'}}};
// What Groovy calls a script that has no file, with a number.
constexpr std::string_view kScript = "Script";
// Of a function's class: what calls of it come to.
constexpr std::array<std::string_view, 5> kClojureCalls = {"invoke", "invokeStatic", "invokePrim",
                                                           "doInvoke", "applyTo"};

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

// The spelling in front of `text`; nullptr: there is none.
const Spelling* SpellingOf(std::string_view text, std::span<const Spelling> spellings) {
  const auto found = std::ranges::find_if(
      spellings, [&](const Spelling& spelling) { return text.starts_with(spelling.first); });
  return found == spellings.end() ? nullptr : &*found;
}

std::string DecodedClojure(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const Spelling* const found = SpellingOf(text, kClojure);
    decoded += found != nullptr ? found->second : text[0] == '_' ? '-' : text[0];
    text.remove_prefix(found != nullptr ? found->first.size() : 1);
  }
  return decoded;
}

// "$u0020" is a character that has no word; 0: no such one.
uint32_t CharacterAt(std::string_view text) {
  constexpr size_t kDigits = 4;
  if (!text.starts_with("$u") || text.size() < 2 + kDigits) return 0;
  uint32_t point = 0;
  for (const char c : text.substr(2, kDigits)) {
    if (!IsDigit(c) && (c < 'A' || c > 'F')) return 0;
    point = point << 4 | static_cast<uint32_t>(IsDigit(c) ? c - '0' : c - 'A' + 10);
  }
  const bool is_control = point < 0x20 || (point >= 0x7f && point < 0xa0);
  return is_control || (point >= 0xd800 && point < 0xe000) ? 0 : point;
}

// A '$' is also what the compiler puts between two names. Operators have no letters behind them, so
// in front of a word that goes on it is that: "Cart$update" has no "^". Behind "$anonfun" comes the
// name of the method that the function is written in.
std::string DecodedScala(std::string_view text) {
  constexpr std::string_view kFunction = "$anonfun$", kConstructor = "$lessinit$greater";
  std::string decoded;
  while (!text.empty()) {
    size_t taken = 1;
    const Spelling* const found = SpellingOf(text, kScala);
    if (text.starts_with(kFunction)) {
      taken = kFunction.size();
      decoded += kFunction;
    } else if (text.starts_with(kConstructor)) {
      taken = kConstructor.size();
      decoded += "<init>";
    } else if (const uint32_t point = CharacterAt(text); point != 0) {
      taken = std::string_view("$u0020").size();
      AppendUtf8(point, &decoded);
    } else if (found != nullptr &&
               (text.size() == found->first.size() || !IsLower(text[found->first.size()]))) {
      taken = found->first.size();
      decoded += found->second;
    } else {
      decoded += text[0];
    }
    text.remove_prefix(taken);
  }
  return decoded;
}

// "Script12" at the front of `text`, as Groovy calls what it parses for the 12th time: the bytes of
// the number; 0: it is none.
size_t ScriptDigits(std::string_view text) {
  if (!text.starts_with(kScript)) return 0;
  const std::string_view rest = text.substr(kScript.size());
  const size_t digits = std::min(rest.size(), rest.find_first_not_of("0123456789"));
  const std::string_view behind = rest.substr(digits);
  return behind.empty() || behind[0] == '$' || behind[0] == '.' ? digits : 0;
}

bool IsScript(std::string_view file) {
  return file.ends_with(".groovy") && ScriptDigits(file) != 0;
}

bool IsOfClojure(std::string_view file) {
  return file.ends_with(".clj") || file.ends_with(".cljc");
}

std::string ClojureText(std::string_view class_text, std::string_view method) {
  const size_t dollar = class_text.find('$');
  if (dollar == std::string_view::npos) return std::string(class_text).append(".").append(method);
  std::string text = DecodedClojure(class_text.substr(0, dollar)) + "/" +
                     DecodedClojure(class_text.substr(dollar + 1));
  std::ranges::replace(text, '$', '/');
  if (std::ranges::find(kClojureCalls, method) == kClojureCalls.end())
    text.append(".").append(method);
  return text;
}

}  // namespace

std::string WithoutCounters(std::string_view class_text, std::string_view file) {
  constexpr std::string_view kLambda = "$$Lambda$";
  const size_t lambda = class_text.rfind(kLambda);
  if (lambda != std::string_view::npos &&
      std::ranges::all_of(class_text.substr(lambda + kLambda.size()), IsDigit))
    return std::string(class_text.substr(0, lambda + kLambda.size() - 1));
  std::string text(class_text);
  if (IsScript(file)) text.erase(kScript.size(), ScriptDigits(text));
  return text;
}

std::string FileWithoutCounter(std::string_view file) {
  std::string text(file);
  if (IsScript(file)) text.erase(kScript.size(), ScriptDigits(text));
  return text;
}

std::string FunctionText(std::string_view class_text, std::string_view method,
                         std::string_view file) {
  const std::string stable = WithoutCounters(class_text, file);
  class_text = stable;
  if (IsOfClojure(file)) return ClojureText(class_text, method);
  if (!file.ends_with(".scala")) return std::string(class_text).append(".").append(method);
  if (class_text.size() > 1 && class_text.ends_with('$')) class_text.remove_suffix(1);
  return DecodedScala(class_text) + "." + DecodedScala(method);
}

}  // namespace stackray::hotspot
