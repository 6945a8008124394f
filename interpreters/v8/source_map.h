// Does generated code bear its source's name? What tsx and its like make of a TypeScript file is
// never written to a file: its script has the source's name, its lines are the generated code's,
// and a map in the script's own text (`//# sourceMappingURL=data:`) leads from one to the other.
// Input:   a text of a foreign heap, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_SOURCE_MAP_H_
#define STACKRAY_INTERPRETERS_V8_SOURCE_MAP_H_

#include <cstdint>
#include <string_view>

namespace stackray::v8 {

// A map's sources stand in front of the mappings, which make it long.
inline constexpr uint32_t kMostMapCharacters = 64 << 10;

// `url`: the map's address, perhaps cut off; `name`: the script's. False for a map in a file: such
// a script is a file itself, and its lines are that file's.
bool IsMapOfSourceNamed(std::string_view url, std::string_view name);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_SOURCE_MAP_H_
