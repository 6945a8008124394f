#include "interpreters/hotspot/language_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

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
// Of a function's class: what calls of it come to.
constexpr std::array<std::string_view, 5> kClojureCalls = {"invoke", "invokeStatic", "invokePrim",
                                                           "doInvoke", "applyTo"};

std::string Decoded(std::string_view text, std::span<const Spelling> spellings, bool has_dashes) {
  std::string decoded;
  while (!text.empty()) {
    const auto found = std::ranges::find_if(
        spellings, [&](const Spelling& spelling) { return text.starts_with(spelling.first); });
    const char first = text[0];
    text.remove_prefix(found != spellings.end() ? found->first.size() : 1);
    decoded += found != spellings.end() ? found->second : has_dashes && first == '_' ? '-' : first;
  }
  return decoded;
}

bool IsOfClojure(std::string_view file) {
  return file.ends_with(".clj") || file.ends_with(".cljc");
}

std::string ClojureText(std::string_view class_text, std::string_view method) {
  const size_t dollar = class_text.find('$');
  if (dollar == std::string_view::npos) return std::string(class_text).append(".").append(method);
  std::string text = Decoded(class_text.substr(0, dollar), kClojure, true) + "/" +
                     Decoded(class_text.substr(dollar + 1), kClojure, true);
  std::ranges::replace(text, '$', '/');
  if (std::ranges::find(kClojureCalls, method) == kClojureCalls.end())
    text.append(".").append(method);
  return text;
}

}  // namespace

std::string FunctionText(std::string_view class_text, std::string_view method,
                         std::string_view file) {
  if (IsOfClojure(file)) return ClojureText(class_text, method);
  if (!file.ends_with(".scala")) return std::string(class_text).append(".").append(method);
  if (class_text.size() > 1 && class_text.ends_with('$')) class_text.remove_suffix(1);
  return Decoded(class_text, kScala, false) + "." + Decoded(method, kScala, false);
}

}  // namespace stackray::hotspot
