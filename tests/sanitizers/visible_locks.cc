// ThreadSanitizer sees a lock only where the lock's own code was built with it. The distribution's
// Abseil was not, so that everything an absl::Mutex guards would be a race. In builds for it this
// file stands before the library's functions and says what they order; it is a library that each of
// their programs is linked with first. The library's other ways to lock (readers, TryLock,
// LockWhen) are not used here. Source: sanitizer/tsan_interface.h of gcc 12; the conditions of
// threads that wait are evaluated by the one that unlocks (absl/synchronization/mutex.h).
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include "absl/base/options.h"
#include "absl/synchronization/mutex.h"

extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);

namespace {

// The library's function that ours stands before. A handful of look-ups a lock is cheap beside what
// the tool costs.
template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

#define STACKRAY_TEXT_OF(x) #x
#define STACKRAY_TEXT(x) STACKRAY_TEXT_OF(x)
#define STACKRAY_MUTEX(rest) \
  "_ZN4absl7" STACKRAY_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME) "5Mutex" rest
static_assert(sizeof(STACKRAY_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME)) == 8,
              "the names below say 7 letters");

// The lock is given away and taken inside; so do conditions read what it guards there.
class GivenAway {
 public:
  explicit GivenAway(absl::Mutex* mutex) {
    __tsan_release(mutex);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  }
  ~GivenAway() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

// And is there again afterwards.
class Waiting {
 public:
  explicit Waiting(absl::Mutex* mutex) : mutex_(mutex), given_(mutex) {}
  ~Waiting() { __tsan_acquire(mutex_); }

 private:
  absl::Mutex* const mutex_;
  const GivenAway given_;
};

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  Next<void(Mutex*)>(STACKRAY_MUTEX("4LockEv"))(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  const GivenAway given(this);
  Next<void(Mutex*)>(STACKRAY_MUTEX("6UnlockEv"))(this);
}

void Mutex::Await(const Condition& condition) {
  const Waiting waiting(this);
  Next<void(Mutex*, const Condition&)>(STACKRAY_MUTEX("5AwaitERKNS0_9ConditionE"))(this, condition);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  const Waiting waiting(this);
  return Next<bool(Mutex*, const Condition&, Duration)>(STACKRAY_MUTEX(
      "16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE"))(this, condition, timeout);
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  const Waiting waiting(this);
  return Next<bool(Mutex*, const Condition&, Time)>(
      STACKRAY_MUTEX("17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE"))(this, condition, deadline);
}

ABSL_NAMESPACE_END
}  // namespace absl
