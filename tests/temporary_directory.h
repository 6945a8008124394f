// A directory for a test's files, which goes away with them.
#ifndef STACKRAY_TESTS_TEMPORARY_DIRECTORY_H_
#define STACKRAY_TESTS_TEMPORARY_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace stackray::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "stackray-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();  // Nothing else would be of use.
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // The file's path.
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(File(name), std::ios::binary) << text;
    return File(name);
  }

 private:
  std::string path_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_TEMPORARY_DIRECTORY_H_
