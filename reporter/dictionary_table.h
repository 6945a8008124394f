// One table of a batch's dictionary: entries kept as their own wire bytes, each content once.
//
// Two entries are equal exactly when their encodings are, because everything here is encoded in one
// way (fields by number, nothing optional written); the bytes are compared, never a hash alone.
// Memory:  the encoded bytes, plus 12 to 20 bytes an entry.
// Threads: none of its own; one owner.
#ifndef STACKRAY_REPORTER_DICTIONARY_TABLE_H_
#define STACKRAY_REPORTER_DICTIONARY_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

namespace stackray {

class DictionaryTable {
 public:
  // `field` is the table's number in ProfilesDictionary. Element 0, the zero value, is there from
  // the start.
  explicit DictionaryTable(int field);
  DictionaryTable(const DictionaryTable&) = delete;
  DictionaryTable& operator=(const DictionaryTable&) = delete;

  // The index of the entry whose message body (or string) is `body`; an empty one is element 0.
  // `body` must not point into this table.
  int32_t Intern(std::string_view body);

  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  // The message body of an entry, until the table changes.
  std::string_view Body(int32_t index) const {
    const Entry& entry = entries_[static_cast<size_t>(index)];
    return std::string_view(encoded_).substr(entry.body, entry.end - entry.body);
  }
  // All entries with their tags and lengths: this table's share of the dictionary message.
  const std::string& encoded() const { return encoded_; }

  // Forgets the entries from index `size` on. 0 < size <= size().
  void Truncate(int32_t size);

 private:
  struct Entry {
    uint32_t begin;  // Of the tag, in encoded_.
    uint32_t body;
    uint32_t end;
  };
  struct Hash {
    using is_transparent = void;
    const DictionaryTable* table;
    size_t operator()(std::string_view body) const { return absl::Hash<std::string_view>()(body); }
    size_t operator()(int32_t index) const { return (*this)(table->Body(index)); }
  };
  struct Equal {
    using is_transparent = void;
    const DictionaryTable* table;
    bool operator()(int32_t a, int32_t b) const { return a == b; }
    bool operator()(int32_t a, std::string_view b) const { return table->Body(a) == b; }
    bool operator()(std::string_view a, int32_t b) const { return a == table->Body(b); }
  };

  int32_t Append(std::string_view body);

  const int field_;
  std::string encoded_;
  std::vector<Entry> entries_;
  absl::flat_hash_set<int32_t, Hash, Equal> index_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_DICTIONARY_TABLE_H_
