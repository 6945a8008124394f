// Gives itself the name in its argument (any bytes, "\xNN" as in C) and burns CPU.
#include <sys/prctl.h>

#include <cstdint>
#include <cstdlib>
#include <string>

volatile uint64_t g_sink = 1;

int main(int argc, char** argv) {
  std::string name;
  for (const char* at = argc > 1 ? argv[1] : ""; *at != '\0'; ++at) {
    if (at[0] == '\\' && at[1] == 'x') {
      const char digits[] = {at[2], at[3], '\0'};
      name += static_cast<char>(strtol(digits, nullptr, 16));
      at += 3;
    } else {
      name += *at;
    }
  }
  prctl(PR_SET_NAME, name.c_str());
  for (;;) g_sink = g_sink * 6364136223846793005ULL + 1;
}
