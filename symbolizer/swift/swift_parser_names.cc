// Identifiers, words, references back and the standard library's short names.
#include <algorithm>

#include "symbolizer/swift/swift_parser.h"
#include "symbolizer/swift/swift_punycode.h"

namespace stackray::swift {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

struct StandardName {
  char letter;
  Kind kind;
  std::string_view name;
};

constexpr StandardName kStandard[] = {
    {'A', Kind::kStructure, "AutoreleasingUnsafeMutablePointer"},
    {'a', Kind::kStructure, "Array"},
    {'B', Kind::kProtocol, "BinaryFloatingPoint"},
    {'b', Kind::kStructure, "Bool"},
    {'D', Kind::kStructure, "Dictionary"},
    {'d', Kind::kStructure, "Double"},
    {'E', Kind::kProtocol, "Encodable"},
    {'e', Kind::kProtocol, "Decodable"},
    {'F', Kind::kProtocol, "FloatingPoint"},
    {'f', Kind::kStructure, "Float"},
    {'G', Kind::kProtocol, "RandomNumberGenerator"},
    {'H', Kind::kProtocol, "Hashable"},
    {'h', Kind::kStructure, "Set"},
    {'I', Kind::kStructure, "DefaultIndices"},
    {'i', Kind::kStructure, "Int"},
    {'J', Kind::kStructure, "Character"},
    {'j', Kind::kProtocol, "Numeric"},
    {'K', Kind::kProtocol, "BidirectionalCollection"},
    {'k', Kind::kProtocol, "RandomAccessCollection"},
    {'L', Kind::kProtocol, "Comparable"},
    {'l', Kind::kProtocol, "Collection"},
    {'M', Kind::kProtocol, "MutableCollection"},
    {'m', Kind::kProtocol, "RangeReplaceableCollection"},
    {'N', Kind::kStructure, "ClosedRange"},
    {'n', Kind::kStructure, "Range"},
    {'O', Kind::kStructure, "ObjectIdentifier"},
    {'P', Kind::kStructure, "UnsafePointer"},
    {'p', Kind::kStructure, "UnsafeMutablePointer"},
    {'Q', Kind::kProtocol, "Equatable"},
    {'q', Kind::kEnum, "Optional"},
    {'R', Kind::kStructure, "UnsafeBufferPointer"},
    {'r', Kind::kStructure, "UnsafeMutableBufferPointer"},
    {'S', Kind::kStructure, "String"},
    {'s', Kind::kStructure, "Substring"},
    {'T', Kind::kProtocol, "Sequence"},
    {'t', Kind::kProtocol, "IteratorProtocol"},
    {'U', Kind::kProtocol, "UnsignedInteger"},
    {'u', Kind::kStructure, "UInt"},
    {'V', Kind::kStructure, "UnsafeRawPointer"},
    {'v', Kind::kStructure, "UnsafeMutableRawPointer"},
    {'W', Kind::kStructure, "UnsafeRawBufferPointer"},
    {'w', Kind::kStructure, "UnsafeMutableRawBufferPointer"},
    {'X', Kind::kProtocol, "RangeExpression"},
    {'x', Kind::kProtocol, "Strideable"},
    {'Y', Kind::kProtocol, "RawRepresentable"},
    {'y', Kind::kProtocol, "StringProtocol"},
    {'Z', Kind::kProtocol, "SignedInteger"},
    {'z', Kind::kProtocol, "BinaryInteger"},
};

// After "Sc".
constexpr StandardName kConcurrency[] = {
    {'A', Kind::kProtocol, "Actor"},
    {'C', Kind::kStructure, "CheckedContinuation"},
    {'c', Kind::kStructure, "UnsafeContinuation"},
    {'E', Kind::kStructure, "CancellationError"},
    {'e', Kind::kStructure, "UnownedSerialExecutor"},
    {'F', Kind::kProtocol, "Executor"},
    {'f', Kind::kProtocol, "SerialExecutor"},
    {'G', Kind::kStructure, "TaskGroup"},
    {'g', Kind::kStructure, "ThrowingTaskGroup"},
    {'h', Kind::kProtocol, "TaskExecutor"},
    {'I', Kind::kProtocol, "AsyncIteratorProtocol"},
    {'i', Kind::kProtocol, "AsyncSequence"},
    {'J', Kind::kStructure, "UnownedJob"},
    {'M', Kind::kClass, "MainActor"},
    {'P', Kind::kStructure, "TaskPriority"},
    {'S', Kind::kStructure, "AsyncStream"},
    {'s', Kind::kStructure, "AsyncThrowingStream"},
    {'T', Kind::kStructure, "Task"},
    {'t', Kind::kStructure, "UnsafeCurrentTask"},
};

}  // namespace

// A word begins at a letter, or at an upper case letter after one that is not, and ends before '_'
// or before the next.
void Parser::RememberWords(std::string_view text) {
  constexpr size_t kMaxWords = 26, kNoWord = SIZE_MAX;
  size_t start = kNoWord;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\0';
    const bool ends = c == '\0' || c == '_' || (i > 0 && IsUpper(c) && !IsUpper(text[i - 1]));
    if (start != kNoWord && ends) {
      if (i - start >= 2 && words_.size() < kMaxWords)
        words_.emplace_back(text.substr(start, i - start));
      start = kNoWord;
    }
    if (start == kNoWord && c != '\0' && c != '_' && !IsDigit(c)) start = i;
  }
}

// One piece of an identifier with words: a letter for a word (the last one's is upper case), or a
// length and characters.
bool Parser::AppendWordOrPart(std::string* text, bool* last) {
  const char c = Peek();
  if (IsLower(c) || IsUpper(c)) {
    ++at_;
    const size_t word = static_cast<size_t>(IsLower(c) ? c - 'a' : c - 'A');
    if (word >= words_.size()) return false;
    *text += words_[word];
    *last = IsUpper(c);
    return true;
  }
  return false;
}

NodeId Parser::Identifier() {
  constexpr size_t kMaxBytes = 8192;
  std::string text;
  bool words = false, punycode = false;
  if (NextIs('0')) {
    punycode = NextIs('0');
    words = !punycode;
  }
  do {
    bool last = false;
    while (words && AppendWordOrPart(&text, &last))
      if (last) break;
    if (last) words = false;
    if (words && (IsLower(Peek()) || IsUpper(Peek()))) return kNone;  // A word that is not there.
    if (last && NextIs('0')) break;
    const std::optional<uint64_t> size = Natural();
    if (!size || *size == 0) return kNone;
    if (punycode) NextIs('_');
    if (*size > text_.size() - at_) return kNone;
    const std::string_view part = text_.substr(at_, *size);
    at_ += *size;
    if (punycode) {
      if (!DecodePunycode(part, &text)) return kNone;
    } else {
      RememberWords(part);
      text += part;
    }
  } while (words && text.size() <= kMaxBytes);
  if (text.empty() || text.size() > kMaxBytes) return kNone;
  return Substitutable(nodes_.Add(Kind::kIdentifier, {}, text));
}

NodeId Parser::OperatorName() {
  constexpr std::string_view kCharacters = "& @/= >    <*!|+?%-~   ^ .";
  const NodeId name = PopIf(Kind::kIdentifier);
  const char fixity = Next();
  const std::string_view word = fixity == 'i'   ? " infix"
                                : fixity == 'p' ? " prefix"
                                : fixity == 'P' ? " postfix"
                                                : "";
  if (name == kNone || word.empty()) return kNone;
  std::string text;
  for (const char c : nodes_[name].text) {
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    if (ascii && (!IsLower(c) || kCharacters[static_cast<size_t>(c - 'a')] == ' ')) return kNone;
    text += ascii ? kCharacters[static_cast<size_t>(c - 'a')] : c;
  }
  return nodes_.Add(Kind::kOperatorName, {}, text.append(word));
}

NodeId Parser::LocalName() {
  const char c = Peek();
  if (c == 'L' || c == 'l') {
    ++at_;
    if (PopIf(Kind::kIdentifier) == kNone) return kNone;  // The file.
    if (c == 'l') return nodes_.Add(Kind::kPrivateName);
    return Wrap(PopName(), Kind::kPrivateName, {});
  }
  if ((c >= 'a' && c <= 'j') || (c >= 'A' && c <= 'J')) {
    ++at_;
    return Wrap(PopName(), Kind::kRelatedName, std::string_view(&c, 1));
  }
  const std::optional<uint64_t> index = Index();
  return index ? Wrap(PopName(), Kind::kLocalName, {}, *index) : kNone;
}

NodeId Parser::Substitution() {
  constexpr uint64_t kMaxRepeats = 2048;
  for (;;) {
    const std::optional<uint64_t> number = Natural();
    if (!number && IsDigit(Peek())) return kNone;
    const char c = Next();
    if (c == '_') {
      const uint64_t at = number ? *number + 27 : 26;
      return at < substitutions_.size() ? substitutions_[at] : kNone;
    }
    if (!IsLower(c) && !IsUpper(c)) return kNone;
    const size_t at = static_cast<size_t>(IsLower(c) ? c - 'a' : c - 'A');
    const uint64_t count = number.value_or(1);
    if (at >= substitutions_.size() || count == 0 || count > kMaxRepeats) return kNone;
    for (uint64_t i = IsUpper(c) ? 1 : 0; i < count; ++i)
      if (!Push(substitutions_[at])) return kNone;
    if (IsUpper(c)) return substitutions_[at];
  }
}

NodeId Parser::Standard() {
  constexpr uint64_t kMaxRepeats = 2048;
  if (NextIs('o')) return nodes_.Add(Kind::kModule, {}, "__C");
  if (NextIs('C')) return nodes_.Add(Kind::kModule, {}, "__C_Synthesized");
  if (NextIs('g')) return Optional();
  const std::optional<uint64_t> count = Natural();
  const NodeId type = StandardType(Next());
  if (type == kNone || (count && (*count == 0 || *count > kMaxRepeats))) return kNone;
  for (uint64_t i = 1; i < count.value_or(1); ++i)
    if (!Push(type)) return kNone;
  return type;
}

NodeId Parser::StandardType(char c) {
  const auto make = [this](const StandardName& type) {
    const NodeId module = nodes_.Add(Kind::kModule, {}, "Swift");
    return nodes_.Add(type.kind, {module, nodes_.Add(Kind::kIdentifier, {}, type.name)});
  };
  const auto find = [&](const auto& table, char letter) {
    for (const StandardName& type : table)
      if (type.letter == letter) return make(type);
    return kNone;
  };
  return c == 'c' ? find(kConcurrency, Next()) : find(kStandard, c);
}

}  // namespace stackray::swift
