#include "reporter/dictionary_table.h"

#include <cassert>

#include "reporter/wire/writer.h"

namespace stackray {

DictionaryTable::DictionaryTable(int field) : field_(field), index_(0, Hash{this}, Equal{this}) {
  index_.insert(Append({}));
}

int32_t DictionaryTable::Append(std::string_view body) {
  const auto begin = static_cast<uint32_t>(encoded_.size());
  wire::AppendBytes(field_, body, &encoded_);
  const auto end = static_cast<uint32_t>(encoded_.size());
  entries_.push_back({begin, end - static_cast<uint32_t>(body.size()), end});
  return size() - 1;
}

int32_t DictionaryTable::Intern(std::string_view body) {
  const auto found = index_.find(body);
  if (found != index_.end()) return *found;
  const int32_t index = Append(body);
  index_.insert(index);
  return index;
}

void DictionaryTable::Truncate(int32_t size) {
  assert(size > 0 && size <= this->size());
  while (this->size() > size) {
    index_.erase(this->size() - 1);  // While its bytes, which hash it, are still there.
    encoded_.resize(entries_.back().begin);
    entries_.pop_back();
  }
}

}  // namespace stackray
