// How many bytes each bytecode has, which the lines of baseline code need:
// Bytecodes::kBytecodeSizes (src/interpreter/bytecodes.h), by its symbol or, in a file without, by
// what it begins with.
#ifndef STACKRAY_INTERPRETERS_V8_BYTECODE_SIZES_H_
#define STACKRAY_INTERPRETERS_V8_BYTECODE_SIZES_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "interpreters/runtime_file.h"

namespace stackray::v8 {

inline constexpr std::string_view kBytecodeSizesSymbol =
    "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";

using BytecodeSizes = std::array<std::vector<uint8_t>, 3>;

// Empty: not there, or nothing that makes sense.
BytecodeSizes ReadBytecodeSizes(const RuntimeFile& file);

// The table at the begin of these bytes, which may go on behind it.
BytecodeSizes SizesAt(std::string_view bytes);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_BYTECODE_SIZES_H_
