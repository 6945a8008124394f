// Tables that keep each content once and name it by a number.
// Memory:  each item once, and 5 to 10 bytes of index; never shrinks. bytes() estimates it.
// Threads: none. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_INTERN_H_
#define STACKRAY_REPORTER_FORMATS_INTERN_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "reporter/formats/text.h"

namespace stackray {

// What a table answers when the content is not there and may not be added.
inline constexpr uint32_t kNoId = UINT32_MAX;

// T: small, copyable, hashable, compared by content. Id 0 is T{} in every table.
template <typename T>
class InternTable {
 public:
  InternTable()
      : items_(std::make_unique<std::vector<T>>()),
        ids_(0, Hash{items_.get()}, Equal{items_.get()}) {
    Intern(T{}, true);
  }

  // The id of `item`. When it is new and `may_add` is false: kNoId.
  uint32_t Intern(const T& item, bool may_add) {
    const auto found = ids_.find(item);
    if (found != ids_.end()) return *found;
    if (!may_add || items_->size() >= kNoId) return kNoId;
    const auto id = static_cast<uint32_t>(items_->size());
    items_->push_back(item);
    ids_.insert(id);
    return id;
  }

  // Gives back the index's memory; nothing can be looked up or added from then on.
  void DropIndex() { Index(0, Hash{items_.get()}, Equal{items_.get()}).swap(ids_); }

  const std::vector<T>& items() const { return *items_; }
  const T& operator[](uint32_t id) const { return (*items_)[id]; }
  size_t bytes() const { return items_->capacity() * sizeof(T) + ids_.capacity() * 5; }

 private:
  // The index holds ids and looks at the items they stand for.
  struct Hash {
    using is_transparent = void;
    size_t operator()(const T& item) const { return absl::Hash<T>()(item); }
    size_t operator()(uint32_t id) const { return (*this)((*items)[id]); }
    const std::vector<T>* items;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }  // Each content has one id.
    bool operator()(uint32_t id, const T& item) const { return (*items)[id] == item; }
    bool operator()(const T& item, uint32_t id) const { return (*items)[id] == item; }
    const std::vector<T>* items;
  };

  std::unique_ptr<std::vector<T>> items_;  // Stays where it is when the table moves.
  using Index = absl::flat_hash_set<uint32_t, Hash, Equal>;
  Index ids_;
};

// Strings, made valid UTF-8 on the way in. Id 0 is "".
class StringTable {
 public:
  StringTable() { Intern("", true); }

  uint32_t Intern(std::string_view text, bool may_add) {
    if (!IsValidUtf8(text)) return InternValid(ToValidUtf8(text), may_add);
    return InternValid(text, may_add);
  }

  std::string_view operator[](uint32_t id) const { return strings_[id]; }
  size_t size() const { return strings_.size(); }
  size_t bytes() const { return text_bytes_ + strings_.size() * (sizeof(std::string) + 48); }

 private:
  uint32_t InternValid(std::string_view text, bool may_add) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    if (!may_add || strings_.size() >= kNoId) return kNoId;
    const auto id = static_cast<uint32_t>(strings_.size());
    ids_.emplace(strings_.emplace_back(text), id);
    text_bytes_ += text.size();
    return id;
  }

  std::deque<std::string> strings_;  // A deque: the index's keys point into its elements.
  absl::flat_hash_map<std::string_view, uint32_t> ids_;
  size_t text_bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_INTERN_H_
