#include "tests/symbolizer/cfi/sframe_file.h"

namespace stackray {
namespace {

class Writer {
 public:
  explicit Writer(bool big_endian) : big_endian_(big_endian) {}
  void Put(uint64_t value, unsigned size_bytes) {
    for (unsigned i = 0; i < size_bytes; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> 8 * (big_endian_ ? size_bytes - 1 - i : i)));
  }
  std::vector<uint8_t> bytes;

 private:
  bool big_endian_;
};

uint8_t InfoOf(const SframeFile::Function& function) {
  return static_cast<uint8_t>(function.address_type | function.repeats << 4 | function.key_b << 5 |
                              function.signal_frame << 7);
}

void PutRow(const SframeFile::Row& row, unsigned address_type, Writer* out) {
  out->Put(row.begin, 1u << address_type);
  const unsigned size_code = row.word_bytes == 1 ? 0 : row.word_bytes == 2 ? 1 : 2;
  out->Put(row.from_sp | row.words.size() << 1 | size_code << 5 | unsigned{row.signed_address} << 7,
           1);
  for (const int64_t word : row.words) out->Put(static_cast<uint64_t>(word), row.word_bytes);
}

}  // namespace

std::vector<uint8_t> SframeFile::Build(uint64_t section_address) const {
  Writer rows(big_endian), list(big_endian), out(big_endian);
  uint32_t row_count = 0;
  const unsigned entry_bytes = version == 1 ? 17 : version == 2 ? 20 : 16;
  for (const Function& function : functions) {
    const uint64_t field = 28u + more_header_bytes + list.bytes.size();
    const uint64_t from = section_address + (flags & kStartsAtField ? field : 0);
    list.Put(function.address - from, version == 3 ? 8 : 4);
    list.Put(function.size_bytes, 4);
    list.Put(rows.bytes.size(), 4);
    Writer& attributes = version == 3 ? rows : list;
    attributes.Put(function.rows.size(), version == 3 ? 2 : 4);
    attributes.Put(InfoOf(function), 1);
    if (version == 3) attributes.Put(function.kind, 1);
    if (version > 1) attributes.Put(function.block_bytes, 1);
    if (version == 2) attributes.Put(0, 2);
    for (const Row& row : function.rows) PutRow(row, function.address_type, &rows);
    row_count += static_cast<uint32_t>(function.rows.size());
  }
  out.Put(0xdee2, 2);
  for (const int value : {int{version}, int{flags}, int{abi}, int{fixed_fp_offset},
                          int{fixed_ra_offset}, int{more_header_bytes}})
    out.Put(static_cast<uint64_t>(value), 1);
  for (const uint64_t value :
       {uint64_t{functions.size()}, uint64_t{row_count}, uint64_t{rows.bytes.size()}, uint64_t{0},
        uint64_t{functions.size() * entry_bytes}})
    out.Put(value, 4);
  out.bytes.resize(out.bytes.size() + more_header_bytes, 0xee);
  out.bytes.insert(out.bytes.end(), list.bytes.begin(), list.bytes.end());
  out.bytes.insert(out.bytes.end(), rows.bytes.begin(), rows.bytes.end());
  return out.bytes;
}

}  // namespace stackray
