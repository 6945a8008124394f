// str and bytes objects of a CPython process.
//
// Input:   a foreign process's memory, so nothing in it is trusted.
// Memory:  at most kMaxTextCharacters of a str.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_PYTHON_TEXT_H_
#define STACKRAY_INTERPRETERS_PYTHON_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpreters/process_memory.h"
#include "interpreters/python/python_layouts.h"

namespace stackray {

inline constexpr uint64_t kMaxTextCharacters = 4096;  // What is longer is cut.

// A str as UTF-8, from its one, two or four bytes a character. Lone surrogates become U+FFFD.
// nullopt: it cannot be read, or is no compact str (names of code always are).
std::optional<std::string> ReadPythonText(ProcessMemory& memory, const PythonFields& fields,
                                          uint64_t address);

// The content of a bytes object. nullopt: it cannot be read, or is longer than `max_bytes`.
std::optional<std::vector<uint8_t>> ReadPythonBytes(ProcessMemory& memory,
                                                    const PythonFields& fields, uint64_t address,
                                                    uint64_t max_bytes);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_TEXT_H_
