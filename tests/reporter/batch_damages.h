// Ways to damage the golden batch, each with the rules that it breaks.
#ifndef STACKRAY_TESTS_REPORTER_BATCH_DAMAGES_H_
#define STACKRAY_TESTS_REPORTER_BATCH_DAMAGES_H_

#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "reporter/proto/profiles.pb.h"

namespace stackray {

struct Damage {
  const char* name;
  std::set<std::string> rules;  // Exactly those that the damage breaks.
  std::function<void(opentelemetry::proto::profiles::v1development::ProfilesData&)> apply;
};
inline void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

std::vector<Damage> BatchDamages();

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_BATCH_DAMAGES_H_
