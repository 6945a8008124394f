// Decoding what hostile senders make: bad indices and batches that are far larger inside than
// outside.
#include "tests/reporter/decoded_batch.h"

#include <gtest/gtest.h>

#include "reporter/proto/profiles.pb.h"
#include "tests/reporter/batch_damages.h"
#include "tests/reporter/golden_batch.h"

namespace stackray {
namespace {

using opentelemetry::proto::profiles::v1development::ProfilesData;

ProfilesData Golden() {
  ProfilesData data;
  EXPECT_TRUE(data.ParseFromString(GoldenBatch()));
  return data;
}

TEST(DecodeBatch, AnIndexOutsideItsTableIsDataLoss) {
  int damages = 0;
  for (const Damage& damage : BatchDamages()) {
    ProfilesData data = Golden();
    damage.apply(data);
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(data.SerializeAsString());
    EXPECT_EQ(batch.ok(), !damage.rules.contains("index")) << damage.name;
    if (!batch.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(batch.status()));
      ++damages;
    }
  }
  EXPECT_GE(damages, 8);
}

TEST(DecodeBatch, AnEmptyRequestIsAnEmptyBatch) {
  const DecodedBatch batch = DecodeBatch("").value();
  EXPECT_EQ(batch.samples.size(), 0u);
  EXPECT_EQ(batch.frames.size(), 1u) << "the empty one";
}

TEST(DecodeBatch, OneStackSharedByManySamplesCannotFillTheMemory) {
  ProfilesData data = Golden();
  for (int i = 0; i < 100'000; ++i)
    data.mutable_dictionary()->mutable_stack_table(1)->add_location_indices(1);
  auto* profile = data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
  for (int i = 0; i < 100'000; ++i) *profile->add_samples() = profile->samples(0);
  const std::string bytes = data.SerializeAsString();
  EXPECT_LT(bytes.size(), 10u << 20);
  EXPECT_TRUE(absl::IsDataLoss(DecodeBatch(bytes).status()));  // 40 GB otherwise.
}

TEST(DecodeBatch, OneNameSharedByManyLinesCannotFillTheMemory) {
  ProfilesData data = Golden();
  data.mutable_dictionary()->add_string_table(std::string(1 << 20, 'x'));
  const int32_t name = data.dictionary().string_table_size() - 1;
  data.mutable_dictionary()->mutable_function_table(1)->set_name_strindex(name);
  for (int i = 0; i < 100'000; ++i)
    data.mutable_dictionary()->add_location_table()->add_lines()->set_function_index(1);
  EXPECT_TRUE(absl::IsDataLoss(DecodeBatch(data.SerializeAsString()).status()));
}

TEST(DecodeBatch, ExtremeNumbersDoNotOverflow) {
  ProfilesData data = Golden();
  auto* profile = data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
  profile->set_time_unix_nano(~uint64_t{0});
  profile->set_duration_nano(~uint64_t{0});
  for (int i = 0; i < 2; ++i) profile->mutable_samples(0)->add_values(INT64_MAX);
  const DecodedBatch batch = DecodeBatch(data.SerializeAsString()).value();
  EXPECT_EQ(batch.samples.at(0).count, INT64_MAX);
  EXPECT_EQ(batch.start_unix_ns, INT64_MAX);
  EXPECT_EQ(batch.duration_ns, 0);
}

}  // namespace
}  // namespace stackray
