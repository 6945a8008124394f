#include "tests/recorder/recorded_folder.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace stackray {

bool KeepChain(const std::filesystem::path& folder, const std::string& chain,
               const std::string& frames) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "chain.txt") << chain;
  std::stringstream expected;
  expected << std::ifstream(folder / "expected.txt").rdbuf();
  if (expected.str() == frames) return true;
  fmt::print("{}", frames);
  return false;
}

}  // namespace stackray
