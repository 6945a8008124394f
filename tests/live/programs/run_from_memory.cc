// Runs a file's bytes from memory that has no file system: `run_from_memory PROGRAM` becomes it
// (fexecve), `run_from_memory -l LIBRARY` loads it and stays in its PluginWork().
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

static int CopyToMemory(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const int memory = memfd_create("a_name_for_memory", MFD_CLOEXEC);
  struct stat info;
  if (file < 0 || memory < 0 || fstat(file, &info) != 0) return -1;
  for (off_t left = info.st_size; left > 0;) {
    const ssize_t copied = sendfile(memory, file, nullptr, static_cast<size_t>(left));
    if (copied <= 0) return -1;
    left -= copied;
  }
  return memory;
}

int main(int argc, char** argv) {
  if (argc == 2) {
    char* const arguments[] = {argv[1], nullptr};
    fexecve(CopyToMemory(argv[1]), arguments, environ);
    return 1;
  }
  if (argc != 3 || std::strcmp(argv[1], "-l") != 0) return 2;
  const std::string path = "/proc/self/fd/" + std::to_string(CopyToMemory(argv[2]));
  void* library = dlopen(path.c_str(), RTLD_NOW);
  auto* work = library ? reinterpret_cast<void (*)()>(dlsym(library, "PluginWork")) : nullptr;
  for (volatile bool found = work != nullptr; found;) work();
  return 1;
}
