// Made by tools/layout_tables.py; not edited by hand.
#include "interpreters/ruby/ruby_layouts.h"

namespace stackray {
namespace {

constexpr RubyLayoutRow kRows[] = {
    // Headers of Ruby 2.5.4; ruby.h of 2.7.4.
    {2, 5, {0,        8,        16, 72,       32,       kNoField, 72,  0,   320, kNoField,
            kNoField, kNoField, 48, 0,        16,       32,       16,  0,   4,   8,
            64,       72,       80, 88,       112,      200,      136, 144, 12,  4,
            kNoField, 0,        8,  16,       24,       32,       15,  8,   32,  24,
            1,        kNoField, 8,  kNoField, kNoField, 4096,     32,  40,  48,  8192,
            16,       16,       14, 24,       8192,     16,       32,  166, 4}},
    // Headers of Ruby 2.6.0; ruby.h of 2.7.4.
    {2, 6, {0,        8,        16, 56,       32,       kNoField, 72,  0,   312, kNoField,
            kNoField, kNoField, 56, 0,        16,       32,       16,  0,   4,   8,
            64,       72,       80, 88,       120,      136,      168, 176, 8,   0,
            144,      kNoField, 8,  16,       24,       32,       15,  8,   32,  24,
            1,        kNoField, 8,  kNoField, kNoField, 4096,     32,  40,  48,  8192,
            16,       16,       14, 24,       8192,     16,       32,  164, 4}},
    // Headers of Ruby 2.7.0; ruby.h of 2.7.4.
    {2, 7, {0,        8,        16, 56,       32,       kNoField, 72,  0,   312, kNoField,
            kNoField, kNoField, 56, 0,        16,       32,       16,  0,   4,   8,
            64,       72,       80, 88,       120,      136,      168, 176, 8,   0,
            144,      kNoField, 8,  16,       24,       32,       15,  8,   32,  24,
            1,        kNoField, 8,  kNoField, kNoField, 4096,     32,  40,  48,  8192,
            16,       16,       14, 24,       8192,     16,       32,  168, 4}},
    // Headers of Ruby 3.0.0; ruby.h of 3.1.2.
    {3, 0, {0,   8,    16,  56,  40, kNoField, 80,   kNoField, kNoField, 24,   520, 88,
            56,  0,    16,  32,  16, 0,        4,    8,        64,       72,   80,  88,
            120, 136,  168, 176, 8,  0,        144,  kNoField, 8,        16,   24,  32,
            15,  8,    32,  24,  1,  kNoField, 8,    kNoField, kNoField, 4096, 32,  40,
            48,  8192, 16,  16,  14, 24,       8192, 16,       32,       168,  4}},
    // Headers of Ruby 3.1.0; ruby.h of 3.1.2.
    {3, 1, {0,   8,    16,  48,  40, kNoField, 80,   kNoField, kNoField, 24,   520, 88,
            64,  0,    16,  32,  16, 0,        4,    8,        64,       72,   80,  88,
            120, 136,  168, 176, 12, 0,        144,  kNoField, 8,        16,   24,  32,
            15,  8,    32,  24,  1,  kNoField, 8,    kNoField, kNoField, 4096, 32,  40,
            48,  8192, 16,  16,  14, 24,       8192, 16,       32,       169,  4}},
    // Headers of Ruby 3.2.0; ruby.h of 3.1.2.
    {3, 2, {0,   8,    16,  48,  48,       40,       8,        kNoField, kNoField, 24,   520, 88,
            64,  0,    16,  32,  16,       0,        4,        8,        64,       72,   80,  88,
            112, 128,  160, 168, 12,       0,        136,      kNoField, 8,        16,   24,  32,
            15,  8,    32,  32,  1,        kNoField, kNoField, kNoField, 0,        4096, 32,  40,
            48,  8192, 16,  24,  kNoField, 24,       8192,     16,       32,       169,  4}},
    // Headers of Ruby 3.3.5; ruby.h of 3.3.8.
    {3, 3, {0,   8,    16,  48,  48,       40,  16,       kNoField, kNoField, 24,   384, 88,
            56,  0,    16,  32,  16,       0,   4,        8,        64,       72,   80,  88,
            112, 128,  160, 168, 12,       0,   136,      kNoField, 8,        16,   24,  32,
            15,  8,    32,  32,  0,        120, kNoField, 96,       kNoField, 4096, 32,  40,
            48,  8192, 16,  24,  kNoField, 24,  8192,     16,       32,       169,  4}},
    // Headers of Ruby 3.4.0; ruby.h of 3.4.11.
    {3, 4, {0,   8,    16,  48,  48,       40,  16,       kNoField, kNoField, 24,   384, 88,
            56,  0,    16,  32,  16,       0,   4,        8,        64,       72,   80,  88,
            112, 128,  160, 168, 12,       0,   136,      kNoField, 8,        16,   24,  32,
            15,  8,    32,  32,  0,        120, kNoField, 96,       kNoField, 8192, 32,  40,
            48,  8192, 16,  24,  kNoField, 24,  8192,     16,       32,       170,  4}},
    // Headers of Ruby 4.0.6; ruby.h of 3.4.11.
    {4, 0, {0,   8,    16,  48,  48,       40,  16,       kNoField, kNoField, 24,   320, 88,
            56,  0,    16,  32,  16,       0,   4,        8,        64,       72,   80,  88,
            112, 128,  168, 176, 12,       0,   136,      kNoField, 8,        16,   24,  32,
            15,  8,    32,  24,  0,        128, kNoField, 112,      kNoField, 8192, 32,  40,
            48,  8192, 16,  24,  kNoField, 24,  8192,     16,       32,       171,  4}},
};

}  // namespace

const RubyLayoutRow* FindRubyLayout(uint32_t major, uint32_t minor) {
  for (const RubyLayoutRow& row : kRows)
    if (row.major == major && row.minor == minor) return &row;
  return nullptr;
}

}  // namespace stackray
