#include "tests/recorder/recorded_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace stackray {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> RecordingsIn(const std::filesystem::path& folder,
                                      const std::string& recording) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (std::filesystem::exists(entry.path() / recording)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

bool KeepChain(const std::filesystem::path& folder, const std::string& chain,
               const std::string& frames) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "chain.txt") << chain;
  if (ReadText(folder / "expected.txt") == frames) return true;
  fmt::print("{}", frames);
  return false;
}

}  // namespace stackray
