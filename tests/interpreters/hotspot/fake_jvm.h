// A library made from fake_hotspot.c, recognised as a file and loaded into this process, whose
// memory is then read as a JVM's.
#ifndef STACKRAY_TESTS_INTERPRETERS_HOTSPOT_FAKE_JVM_H_
#define STACKRAY_TESTS_INTERPRETERS_HOTSPOT_FAKE_JVM_H_

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "interpreters/hotspot/hotspot_data.h"
#include "interpreters/hotspot/loader.h"
#include "tests/interpreters/fake_runtime.h"

namespace stackray::test {

struct FakeJvm {
  explicit FakeJvm(const std::string& name) {
    const std::string path = std::string(FAKE_RUNTIMES) + "/" + name + ".so";
    file = FakeExecutable(path);
    if (file.source == nullptr) return;
    const absl::StatusOr<ElfImage> image = ElfImage::Create(*file.source);
    if (image.ok()) data = HotSpotLoader().Recognise(*image, *file.source);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~FakeJvm() {
    if (library != nullptr) dlclose(library);
  }
  FakeJvm(const FakeJvm&) = delete;
  FakeJvm& operator=(const FakeJvm&) = delete;

  uint64_t Address(const char* symbol) const {
    return reinterpret_cast<uint64_t>(dlsym(library, symbol));
  }
  // Of byte 0 of the text mapping, which the linker has loaded at the file's own distances.
  uint64_t base() const {
    const link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    const absl::StatusOr<ElfImage> image = ElfImage::Create(*file.source);
    for (const ElfSegment& segment : image->segments())
      if (segment.executable) return map->l_addr + segment.address - segment.file_offset;
    return 0;
  }
  absl::StatusOr<std::shared_ptr<const StackInstance>> Attach() {
    return data->Attach(memory, base());
  }

  ExecutableFile file;
  std::shared_ptr<const RuntimeData> data;
  void* library = nullptr;
  LiveProcessMemory memory{static_cast<uint32_t>(getpid())};
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_HOTSPOT_FAKE_JVM_H_
