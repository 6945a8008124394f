#include "agent/web_server/secret_word.h"

#include <openssl/crypto.h>
#include <sys/random.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace stackray {
namespace {

constexpr size_t kRandomBytes = 24;

}  // namespace

std::string MakeSecretWord() {
  char random[kRandomBytes];
  for (size_t have = 0; have < sizeof(random);) {
    const ssize_t got = getrandom(random + have, sizeof(random) - have, 0);
    if (got < 0 && errno != EINTR) std::abort();  // A word that can be guessed is none.
    have += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return absl::WebSafeBase64Escape({random, sizeof(random)});
}

bool IsSameSecret(std::string_view given, std::string_view secret) {
  return given.size() == secret.size() &&
         CRYPTO_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

}  // namespace stackray
