// Made by tools/layout_tables.py; not edited by hand.
#include "interpreters/python/python_layouts.h"

namespace stackray {
namespace {

constexpr PythonLayoutRow kRows[] = {
    // Headers of CPython 3.6.15.
    {6, false, {8,   16, 152,     0,       8,  0,   kAbsent, 24,      kAbsent, kAbsent, 32,
                120, 24, kAbsent, kAbsent, 96, 104, 36,      kAbsent, kAbsent, 112,     16,
                32,  48, 72,      2,       5,  6,   16,      32,      8}},
    // Headers of CPython 3.7.16.
    {7, false, {8,   16, 176,     0,       8,  1480, 24, 24,      kAbsent, kAbsent, 32,
                104, 24, kAbsent, kAbsent, 96, 104,  36, kAbsent, kAbsent, 112,     16,
                32,  48, 72,      2,       5,  6,    16, 32,      8}},
    // Headers of CPython 3.8.18.
    {8, false, {8,   16, 176,     0,       8,   1368, 32, 24,      kAbsent, kAbsent, 32,
                104, 24, kAbsent, kAbsent, 104, 112,  40, kAbsent, kAbsent, 120,     16,
                32,  48, 72,      2,       5,   6,    16, 32,      8}},
    // Headers of CPython 3.9.18.
    {9, false, {8,   16, 176,     0,       8,   568, 32, 24,      kAbsent, kAbsent, 32,
                104, 24, kAbsent, kAbsent, 104, 112, 40, kAbsent, kAbsent, 120,     16,
                32,  48, 72,      2,       5,   6,   16, 32,      8}},
    // Headers of CPython 3.10.13.
    {10, false, {8,  16, 176,     0,       8,   568, 32, 24,      kAbsent, kAbsent, 32,
                 96, 24, kAbsent, kAbsent, 104, 112, 40, kAbsent, kAbsent, 120,     16,
                 32, 48, 72,      2,       5,   6,   16, 32,      8}},
    // Headers of CPython 3.11.7.
    {11, false, {8,   16, 152, 0,   16,  576, 40, 56, 8,  16, 32, 56, 48, 69, 68, 112,
                 120, 72, 128, 184, 136, 16,  32, 48, 72, 2,  5,  6,  16, 32, 8}},
    // Headers of CPython 3.12.1.
    {12, false, {8,   16, 136, 0,   72,  kAbsent, 40, 56, 0,  8, 0, 56, 8,  70, kAbsent, 112,
                 120, 68, 128, 192, 136, 16,      32, 40, 56, 2, 5, 6,  16, 32, 8}},
    // Headers of CPython 3.13.0.
    {13, false, {8,  16, 152, 7264,    7344, kAbsent, 632, 72,  kAbsent, kAbsent, 0,
                 56, 8,  70,  kAbsent, 112,  120,     68,  128, 200,     136,     16,
                 32, 40, 56,  2,       5,    6,       16,  32,  8}},
    // Headers of CPython 3.13.0, free-threaded.
    {13, true, {8,  16, 152, 7264,    7344, kAbsent, 632, 72,  kAbsent, kAbsent, 0,
                56, 8,  70,  kAbsent, 128,  136,     84,  144, 216,     152,     32,
                48, 56, 72,  2,       5,    6,       32,  48,  24}},
    // Headers of CPython 3.14.10.
    {14, false, {8,  16, 152, 7272,    7344, kAbsent, 808, 72,  kAbsent, kAbsent, 0,
                 56, 8,  74,  kAbsent, 112,  120,     68,  128, 208,     136,     16,
                 32, 40, 56,  2,       5,    6,       16,  32,  8}},
    // Headers of CPython 3.14.10, free-threaded.
    {14, true, {8,  16, 152, 7272,    7344, kAbsent, 808, 72,  kAbsent, kAbsent, 0,
                56, 8,  78,  kAbsent, 128,  136,     84,  144, 232,     152,     32,
                48, 56, 72,  8,       11,   12,      32,  48,  24}},
    // Headers of CPython 3.15.2.
    {15, false, {8,  16, 176, 7264,    7336, kAbsent, 936, 72,  kAbsent, kAbsent, 0,
                 56, 8,  74,  kAbsent, 112,  120,     68,  128, 208,     136,     16,
                 32, 40, 56,  2,       5,    6,       16,  32,  8}},
    // Headers of CPython 3.15.2, free-threaded.
    {15, true, {8,  16, 176, 7264,    7336, kAbsent, 936, 72,  kAbsent, kAbsent, 0,
                56, 8,  78,  kAbsent, 128,  136,     84,  144, 232,     152,     32,
                48, 56, 72,  8,       11,   12,      32,  48,  24}},
};

constexpr DebugOffsetPositions kPositions[] = {
    // Headers of CPython 3.13.0.
    {13,  40,  64,  72,  168, 176, 184, 192, 232, 240, 248, 264,
     280, 288, 296, 304, 312, 344, 360, 520, 528, 544, 552, 560},
    // Headers of CPython 3.14.10.
    {14,  40,  64,  72,  192, 200, 208, 216, 256, 264, 272, 288,
     320, 328, 336, 344, 352, 384, 408, 600, 608, 624, 632, 640},
    // Headers of CPython 3.15.2.
    {15,  40,  64,  72,  192, 200, 208, 240, 320, 328, 336, 352,
     384, 392, 400, 408, 416, 448, 472, 696, 704, 720, 728, 736},
};

}  // namespace

const PythonLayoutRow* FindPythonLayout(uint32_t minor, bool free_threaded) {
  for (const PythonLayoutRow& row : kRows)
    if (row.minor == minor && row.free_threaded == free_threaded) return &row;
  return nullptr;
}

const DebugOffsetPositions* FindDebugOffsetPositions(uint32_t minor) {
  for (const DebugOffsetPositions& row : kPositions)
    if (row.minor == minor) return &row;
  return nullptr;
}

}  // namespace stackray
