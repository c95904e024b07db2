// A key index under any sequence of inserts and removals agrees with a map. Three bytes a step:
// what to do, and which key, of a few places so that keys overflow their groups.
#include <cstdint>
#include <cstdlib>
#include <map>

#include "../crafted_keys.h"
#include "core/hash.h"
#include "core/key_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace estimator_plugin;  // NOLINT: a fuzz target is one function.
  IndexArena arena;
  KeyIndex index(&arena, size == 0 ? 0 : data[0]);
  std::map<int64_t, uint32_t> model;
  for (size_t i = 0; i + 2 < size; i += 3) {
    const uint64_t low = data[i] % 16 == 0 ? 0xffffffffu : data[i] % 16 * 0x11111111u;
    const int64_t key = testing::KeyOfHash((static_cast<uint64_t>(data[i + 1]) << 32) | low);
    const auto found = model.find(key);
    const uint32_t expected = found == model.end() ? kNoRow : found->second;
    if (key == kNoKey) continue;
    if (index.Find(key, MixKey(key)) != expected) std::abort();
    if (data[i] & 0x10) {
      if (index.Remove(key, MixKey(key)) != expected) std::abort();
      model.erase(key);
    } else if (expected == kNoRow) {
      if (!index.Reserve(index.size() + 1).ok()) std::abort();
      index.Insert(key, MixKey(key), data[i + 2]);
      model[key] = data[i + 2];
    }
    if (index.size() != static_cast<int64_t>(model.size())) std::abort();
  }
  for (const auto& entry : model) {
    if (index.Remove(entry.first, MixKey(entry.first)) != entry.second) std::abort();
  }
  for (uint64_t g = 0; g < index.reader().num_groups; ++g) {
    if (index.reader().groups[g].overflow != 0) std::abort();
  }
  return 0;
}
