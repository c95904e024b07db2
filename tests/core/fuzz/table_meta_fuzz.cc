// ParseTableMeta on any bytes: it answers with a Status, and what it accepts it also writes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/table_meta.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace estimator_plugin;  // NOLINT: a fuzz target is one function.
  TableMeta meta;
  if (!ParseTableMeta(std::string(reinterpret_cast<const char*>(data), size), &meta).ok()) return 0;
  const std::string text = SerializeTableMeta(meta);
  TableMeta again;
  if (!ParseTableMeta(text, &again).ok() || SerializeTableMeta(again) != text) {
    std::fprintf(stderr, "accepted, but does not survive a round trip:\n%s", text.c_str());
    std::abort();
  }
  return 0;
}
