#include "symbolizer/debug_files.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "symbolizer/build_id.h"

namespace stackray {
namespace {

constexpr std::string_view kDebugDirectory = "/usr/lib/debug";
constexpr uint64_t kMaxCrcBytes = 1 << 30;  // The sum reads the whole file.

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

bool HasBuildId(const ByteSource& source, const std::string& build_id) {
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  return image.ok() && !build_id.empty() && GnuBuildId(*image) == build_id;
}

bool IsLinked(const ByteSource& source, const DebugLink& link, const std::string& build_id) {
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (!image.ok()) return false;
  if (const std::string own = GnuBuildId(*image); !own.empty() && !build_id.empty())
    return own == build_id;
  if (source.size_bytes() > kMaxCrcBytes) return false;
  const absl::StatusOr<uint32_t> crc = Crc32Of(source);
  return crc.ok() && *crc == link.crc32;
}

}  // namespace

std::unique_ptr<ByteSource> DebugFiles::OpenAnywhere(const std::string& path) const {
  if (std::unique_ptr<ByteSource> file = process_.Open(path)) return file;
  return own_.Open(path);
}

FoundFile DebugFiles::FindByBuildId(const std::string& build_id) const {
  if (build_id.size() < 4) return {};
  const std::string path = fmt::format("{}/.build-id/{}/{}.debug", kDebugDirectory,
                                       build_id.substr(0, 2), build_id.substr(2));
  for (const RootedFiles* root : {&process_, &own_}) {
    std::unique_ptr<ByteSource> file = root->Open(path);
    if (file != nullptr && HasBuildId(*file, build_id)) return {std::move(file), path};
  }
  return {};
}

FoundFile DebugFiles::FindByLink(const DebugLink& link, const ExecutableInfo& info) const {
  const std::string directory = DirectoryOf(info.path);
  const std::string places[] = {
      fmt::format("{}/{}", directory, link.file_name),
      fmt::format("{}/.debug/{}", directory, link.file_name),
      fmt::format("{}{}/{}", kDebugDirectory, directory, link.file_name),
  };
  for (const std::string& path : places) {
    if (path == info.path) continue;
    for (const RootedFiles* root : {&process_, &own_}) {
      std::unique_ptr<ByteSource> file = root->Open(path);
      if (file != nullptr && IsLinked(*file, link, info.gnu_build_id))
        return {std::move(file), path};
    }
  }
  return {};
}

FoundFile DebugFiles::FindSeparate(const ElfImage& image, const ByteSource& source,
                                   const ExecutableInfo& info) const {
  if (FoundFile found = FindByBuildId(info.gnu_build_id); found.source != nullptr) return found;
  const std::optional<DebugLink> link = ReadDebugLink(image, source);
  return link ? FindByLink(*link, info) : FoundFile();
}

std::unique_ptr<ByteSource> DebugFiles::OpenRelated(const std::string& from,
                                                    const std::string& path) const {
  if (path.starts_with('/')) return OpenAnywhere(path);
  return OpenAnywhere(DirectoryOf(from) + "/" + path);
}

}  // namespace stackray
