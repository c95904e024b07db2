#include "table_meta.h"

#include <cctype>
#include <iomanip>
#include <limits>
#include <locale>
#include <map>
#include <sstream>

#include "hash.h"

namespace estimator_plugin {
namespace {

std::string FormatDouble(double value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::setprecision(std::numeric_limits<double>::max_digits10) << value;
  return out.str();
}

// Streams skip leading space; a number here is all digits.
bool StartsWithSpace(const std::string& text) {
  return !text.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0;
}

bool ParseDouble(const std::string& text, double* value) {
  if (StartsWithSpace(text)) return false;
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  in >> *value;
  return !in.fail() && in.peek() == std::istringstream::traits_type::eof();
}

template <typename Integer>
bool ParseInteger(const std::string& text, Integer* value) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  if (text.empty() || StartsWithSpace(text)) return false;
  if (text[0] == '-' && !std::numeric_limits<Integer>::is_signed) return false;
  in >> *value;
  return !in.fail() && in.peek() == std::istringstream::traits_type::eof();
}

// The parts of a list; an empty text is an empty list.
std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string::npos;
       end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!text.empty()) parts.push_back(text.substr(begin));
  return parts;
}

// Fields by name; takes them out one by one and remembers the first thing that is wrong.
class FieldReader {
 public:
  explicit FieldReader(const std::string& text) {
    for (const std::string& line : Split(text, '\n')) {
      if (line.empty()) continue;  // Behind the last line's end.
      const size_t equals = line.find('=');
      if (equals == std::string::npos) {
        Fail("line without '=': " + line);
      } else if (!fields_.emplace(line.substr(0, equals), line.substr(equals + 1)).second) {
        Fail("field '" + line.substr(0, equals) + "' occurs twice");
      }
    }
  }

  bool Has(const std::string& name) const { return fields_.count(name) > 0; }

  std::string Text(const std::string& name) {
    const auto field = fields_.find(name);
    if (field == fields_.end()) {
      Fail("no field '" + name + "'");
      return "";
    }
    return field->second;
  }

  template <typename Integer>
  void Read(const std::string& name, Integer* value) {
    const std::string text = Text(name);
    if (!ParseInteger(text, value)) Fail("field '" + name + "' is no whole number: " + text);
  }

  double Number(const std::string& text) {
    double value = 0;
    if (!ParseDouble(text, &value)) Fail("not a number: " + text);
    return value;
  }

  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  Status status() const {
    if (error_.empty()) return Status();
    return Error(Code::kDataLoss, "not a table's meta: ", error_);
  }

 private:
  std::map<std::string, std::string> fields_;
  std::string error_;
};

// What tables had no word for before they admitted keys.
void ReadAdmission(FieldReader* fields, AdmissionState* state) {
  fields->Read("clock", &state->clock);
  fields->Read("access_threshold", &state->threshold);
  fields->Read("configured_threshold", &state->configured);
  fields->Read("frozen", &state->frozen);
  if (state->clock < kNoClock || state->threshold < kNoThreshold ||
      state->configured < kNoThreshold) {
    fields->Fail("a clock or threshold is below -1");
  }
}

}  // namespace

std::string SerializeTableMeta(const TableMeta& meta) {
  std::string slots;
  for (const SlotSpec& slot : meta.layout.slots) {
    slots += (slots.empty() ? "" : ",") + slot.name + ":" + FormatDouble(slot.initial_value);
  }
  std::string arguments;
  for (double argument : meta.initializer.arguments) {
    arguments += (arguments.empty() ? "" : ",") + FormatDouble(argument);
  }
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "format_version=" << meta.format_version << "\nhash_version=" << meta.hash_version
      << "\nkey_dtype=" << meta.key_dtype << "\nvalue_dtype=" << meta.value_dtype
      << "\nnum_buckets=" << meta.num_buckets << "\ndim=" << meta.layout.dim << "\nslots=" << slots
      << "\ninitializer=" << meta.initializer.kind << "\ninitializer_arguments=" << arguments
      << "\nseed=" << meta.initializer.seed << "\nsave_id=" << meta.save_id
      << "\nparent=" << meta.parent << "\nparent_id=" << meta.parent_id
      << "\nclock=" << meta.admission.clock << "\naccess_threshold=" << meta.admission.threshold
      << "\nconfigured_threshold=" << meta.admission.configured
      << "\nfrozen=" << meta.admission.frozen << "\n";
  return out.str();
}

Status ParseTableMeta(const std::string& text, TableMeta* meta) {
  FieldReader fields(text);
  TableMeta parsed;
  fields.Read("format_version", &parsed.format_version);
  EP_RETURN_IF_ERROR(fields.status());
  if (parsed.format_version < 1 || parsed.format_version > kCheckpointFormatVersion) {
    return Error(Code::kDataLoss, "a table of checkpoint format ", parsed.format_version,
                 "; this version reads formats 1 to ", kCheckpointFormatVersion);
  }
  fields.Read("hash_version", &parsed.hash_version);
  parsed.key_dtype = fields.Text("key_dtype");
  parsed.value_dtype = fields.Text("value_dtype");
  fields.Read("num_buckets", &parsed.num_buckets);
  if (!IsNumBuckets(parsed.num_buckets)) {
    fields.Fail("num_buckets is " + std::to_string(parsed.num_buckets));
  }
  fields.Read("dim", &parsed.layout.dim);
  if (parsed.layout.dim < 1 || parsed.layout.dim > kMaxDim) {
    fields.Fail("dim is " + std::to_string(parsed.layout.dim));
  }
  for (const std::string& slot : Split(fields.Text("slots"), ',')) {
    const size_t colon = slot.find(':');
    if (colon == std::string::npos || colon == 0) {
      fields.Fail("slot without name or initial value: " + slot);
      continue;
    }
    parsed.layout.slots.push_back({slot.substr(0, colon), fields.Number(slot.substr(colon + 1))});
  }
  parsed.initializer.kind = fields.Text("initializer");
  parsed.initializer.arguments.clear();
  for (const std::string& argument : Split(fields.Text("initializer_arguments"), ',')) {
    parsed.initializer.arguments.push_back(fields.Number(argument));
  }
  fields.Read("seed", &parsed.initializer.seed);
  fields.Read("save_id", &parsed.save_id);
  parsed.parent = fields.Text("parent");
  fields.Read("parent_id", &parsed.parent_id);
  if (fields.Has("clock")) ReadAdmission(&fields, &parsed.admission);
  EP_RETURN_IF_ERROR(fields.status());
  *meta = parsed;
  return Status();
}

std::string MetaTensorName(const std::string& table) { return table + "/meta"; }

std::string BankTensorName(const std::string& table) { return table + "/bank"; }

std::string BucketTensorName(const std::string& table, int bucket, const char* array) {
  return table + "/bucket-" + std::to_string(bucket) + "/" + array;
}

}  // namespace estimator_plugin
