#include "policy/config.h"

#include <functional>
#include <optional>
#include <stdexcept>

#include "core/text.h"
#include "policy/config_json.h"

namespace cigri::policy {
namespace {

using nlohmann::json;

constexpr std::pair<PolicyKind, const char*> kPolicies[] = {
    {PolicyKind::kFifo, "fifo"},
    {PolicyKind::kAffinity, "affinity"},
    {PolicyKind::kUsage, "usage"},
    {PolicyKind::kSla, "sla"},
    {PolicyKind::kLottery, "lottery"},
    {PolicyKind::kStride, "stride"},
    {PolicyKind::kDynamic, "dynamic"},
    {PolicyKind::kFairshare, "fairshare"},
    {PolicyKind::kFairshareSimple, "fairshare-simple"}};
constexpr std::pair<Aggregate, const char*> kAggregates[] = {{Aggregate::kNone, "none"},
                                                             {Aggregate::kLevel, "level"},
                                                             {Aggregate::kUser, "user"},
                                                             {Aggregate::kProject, "project"}};

// What a value is not: the text goes into the fault.
class Wrong : public std::runtime_error {
 public:
  Wrong(const std::string& message, std::string hint = "")
      : std::runtime_error(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

template <typename T, std::size_t N>
T Word(const json& value, const std::pair<T, const char*> (&words)[N]) {
  std::vector<std::string> names;
  for (const auto& [kind, word] : words) names.emplace_back(word);
  if (!value.is_string()) throw Wrong("must be one of " + Join(names, ", "));
  const std::string text = value.get<std::string>();
  for (const auto& [kind, word] : words)
    if (text == word) return kind;
  const auto near = DidYouMean(text, names);
  throw Wrong("\"" + text + "\" is none of " + Join(names, ", "),
              near ? "did you mean \"" + *near + "\"?" : "");
}

void Read(const json& v, PolicyKind& out) { out = Word(v, kPolicies); }
void Read(const json& v, Aggregate& out) { out = Word(v, kAggregates); }
void Read(const json& v, bool& out) {
  if (!v.is_boolean()) throw Wrong("must be true or false");
  out = v.get<bool>();
}
void Read(const json& v, int& out) {
  if (!v.is_number_integer()) throw Wrong("must be a whole number");
  const auto wide = v.get<std::int64_t>();
  if (wide < -1 || wide > 1'000'000'000) throw Wrong("is out of range");
  out = static_cast<int>(wide);
}
void Read(const json& v, double& out) {
  if (!v.is_number()) throw Wrong("must be a number");
  out = v.get<double>();
}

// A struct with JSON conversion: unknown members are named, the types checked.
template <typename T>
void Read(const json& v, T& out) {
  if (!v.is_object()) throw Wrong("must be an object");
  const json known = T{};
  std::vector<std::string> names;
  for (const auto& [name, fallback] : known.items()) names.push_back(name);
  for (const auto& [name, value] : v.items()) {
    if (!known.contains(name)) {
      const auto near = DidYouMean(name, names);
      throw Wrong("has no member \"" + name + "\"",
                  near ? "did you mean \"" + *near + "\"?" : "it has " + Join(names, ", "));
    }
    const json& like = known[name];
    if (like.is_number_integer() && !value.is_number_integer())
      throw Wrong("member \"" + name + "\" must be a whole number");
    if (like.is_number() != value.is_number() || like.is_string() != value.is_string())
      throw Wrong("member \"" + name + "\" must be a " + (like.is_number() ? "number" : "text"));
  }
  out = v.get<T>();
}

template <typename T>
void Read(const json& v, std::vector<T>& out) {
  if (!v.is_array()) throw Wrong("must be a list");
  out.clear();
  for (const auto& item : v) Read(item, out.emplace_back());
}
template <typename T>
void Read(const json& v, std::map<std::string, T>& out) {
  if (!v.is_object()) throw Wrong("must be an object");
  out.clear();
  for (const auto& [name, item] : v.items()) {
    try {
      Read(item, out[name]);
    } catch (const Wrong& e) {
      throw Wrong("of \"" + name + "\" " + e.what(), e.hint());
    }
  }
}
void Read(const json& v, std::map<int, double>& out) {
  std::map<std::string, double> words;
  Read(v, words);
  out.clear();
  for (const auto& [name, value] : words) {
    if (name.size() != 1 || name[0] < '0' || name[0] > '9')
      throw Wrong("has priority \"" + name + "\", and priorities are 0 to 9");
    out[name[0] - '0'] = value;
  }
}

json Write(PolicyKind kind) { return ToString(kind); }
json Write(Aggregate kind) { return ToString(kind); }
json Write(const std::map<int, double>& map) {
  json out = json::object();
  for (const auto& [level, weight] : map) out[std::to_string(level)] = weight;
  return out;
}
template <typename T>
json Write(const T& value) {
  return value;
}

struct Field {
  std::string key, type, meaning;
  std::function<void(const json&, PolicyConfig&)> read;
  std::function<json(const PolicyConfig&)> write;
};

template <typename T>
Field F(const char* key, T PolicyConfig::*member, const char* type, const char* meaning) {
  return {key, type, meaning, [=](const json& v, PolicyConfig& c) { Read(v, c.*member); },
          [=](const PolicyConfig& c) { return Write(c.*member); }};
}

using P = PolicyConfig;

const std::vector<Field>& Fields() {
  static const std::vector<Field> fields = {
      F("policy", &P::policy, "word", "the policy between campaigns"),
      F("test_first", &P::test_first, "bool",
        "the first two test campaigns of a user before all others"),
      F("strict_priority", &P::strict_priority, "bool", "a higher priority takes all it can first"),
      F("first_results", &P::first_results, "int",
        "first jobs of a user's new campaigns that go ahead, 0 = none"),
      F("parallel_campaigns", &P::parallel_campaigns, "int",
        "campaigns of one user served at once, 0 = all"),
      F("aggregate", &P::aggregate, "word", "who shares one weight: none, level, user, project"),
      F("canary_jobs", &P::canary_jobs, "int",
        "jobs tried on a cluster before the first success there"),
      F("affinity_wait", &P::affinity_wait_s, "seconds",
        "how long a campaign waits for a cluster that has its data"),
      F("deadline.weight", &P::deadline_weight, "number",
        "what a deadline without slack adds to a campaign's weight within its user's share"),
      F("qos", &P::qos, "object", "quality of service of a class, against the highest one"),
      F("qos.weight", &P::qos_weight, "number",
        "what the highest quality of service adds to a campaign's weight, 0 = nothing"),
      F("user_priority", &P::user_priority, "int",
        "highest priority that users may give their campaigns; operators give any, 10 is urgent"),
      F("weights", &P::weights, "object", "weight of each priority, default the priority itself"),
      F("user_weights", &P::user_weights, "object", "weight of a user, default 1"),
      F("usage.window", &P::usage_window_s, "seconds", "usage counts for so long"),
      F("sla.groups", &P::sla_groups, "object", "slots of each group, or its part of all slots"),
      F("projects", &P::projects, "object", "share and parent of each project"),
      F("users", &P::users, "object", "share of each user, and its project as parent"),
      F("fairshare.half_life", &P::fairshare_half_life_s, "seconds", "usage counts half after it"),
      F("fairshare.window", &P::fairshare_window_s, "seconds", "older usage does not count"),
      F("fairshare.payback", &P::fairshare_payback, "number",
        "part of the slots that past usage moves at most, 1 = not limited"),
      F("simple.times_share", &P::simple_times_share, "bool",
        "fairshare-simple: usage times share"),
      F("simple.decay", &P::simple_decay, "number", "fairshare-simple: factor per day"),
      F("simple.days", &P::simple_days, "int", "fairshare-simple: days that count"),
      F("rank.usage", &P::rank_usage, "number", "lottery: what usage adds to a rank"),
      F("rank.running", &P::rank_running, "number", "lottery: what jobs in flight add to a rank"),
      F("rank.age", &P::rank_age, "number", "lottery: what a later submission adds to a rank"),
      F("queues", &P::queues, "object", "dynamic: min, max, inc, dec, gap of each class"),
      F("quotas", &P::quotas, "list", "limits on what is in flight"),
      F("start_rates", &P::start_rates, "list", "limits on starts per minute"),
      F("licences", &P::licences, "object", "size of each pool of counted tokens"),
      F("reserves", &P::reserves, "list", "parts of clusters for one class"),
      F("urgent.percent", &P::urgent_percent, "number",
        "urgent jobs may preempt up to this part of all slots, 0 = never"),
      F("urgent.delay", &P::urgent_delay_s, "seconds", "and only after waiting so long"),
      F("preempt.threshold", &P::preempt_threshold_s, "seconds",
        "running so long weighs as much as one priority"),
      F("scavenger.preempt", &P::scavenger_preempt, "bool",
        "scavengers are cancelled for campaigns of normal priority and higher"),
      F("sla.preempt", &P::sla_preempt, "bool", "groups take back what others borrowed"),
      F("multi_slot.age", &P::multi_slot_age, "number",
        "age at which slots are kept free for a multi-slot job, -1 = never"),
      F("multi_slot.step", &P::multi_slot_step, "number", "age that each narrower start adds"),
      F("multi_slot.classes", &P::multi_slot_classes, "object",
        "age, step and start of a class, in place of these"),
      F("multi_slot.hold", &P::multi_slot_hold_s, "seconds",
        "slots are kept free no longer, twice as long each time that this was in vain"),
      F("multi_slot.rest", &P::multi_slot_rest_s, "seconds", "and then not again for so long"),
      F("multi_slot.queue", &P::multi_slot_queue, "number",
        "the largest part of a cluster that a job in its queue may take, while others want less"),
      F("backfill", &P::backfill, "bool",
        "jobs that do not delay a multi-slot one with a reservation go before it"),
      F("black_hole.count", &P::black_hole_count, "int",
        "jobs in a row that make a black hole, 0 = off"),
      F("black_hole.fraction", &P::black_hole_fraction, "number",
        "of the median elsewhere: faster is too fast"),
      F("black_hole.min", &P::black_hole_min_s, "seconds",
        "campaigns with shorter jobs are not looked at"),
      F("black_hole.hold", &P::black_hole_hold_s, "seconds", "a black hole is held so long"),
      F("survival.kills", &P::survival_kills, "int",
        "bursts of kills without a success after which survival is compared with need, 0 = off: "
        "then long jobs also take slots that local users soon take back"),
      F("stragglers.times", &P::straggler_times, "number",
        "a cluster where jobs run much too long so many times as often as elsewhere gets none of "
        "the last tasks of campaigns, 0 = off"),
  };
  return fields;
}

}  // namespace

Parsed ParseConfig(const std::map<std::string, json>& rows) {
  Parsed parsed;
  std::vector<std::string> keys;
  for (const auto& field : Fields()) keys.push_back(field.key);
  for (const auto& [key, value] : rows) {
    const auto it = std::find_if(Fields().begin(), Fields().end(),
                                 [&, &k = key](const Field& f) { return f.key == k; });
    if (it == Fields().end()) {
      const auto near = DidYouMean(key, keys);
      parsed.faults.push_back(
          {key, "unknown key \"" + key + "\"", near ? "did you mean \"" + *near + "\"?" : ""});
      continue;
    }
    const PolicyConfig before = parsed.config;
    try {
      it->read(value, parsed.config);
    } catch (const Wrong& e) {
      parsed.config = before;
      parsed.faults.push_back({key, "\"" + key + "\" " + e.what(), e.hint()});
    }
  }
  return parsed;
}

std::map<std::string, json> ToRows(const PolicyConfig& config) {
  std::map<std::string, json> rows;
  const PolicyConfig fallback;
  for (const auto& field : Fields())
    if (const json value = field.write(config); value != field.write(fallback))
      rows[field.key] = value;
  return rows;
}

const std::vector<KnownKey>& KnownKeys() {
  static const std::vector<KnownKey> keys = [] {
    std::vector<KnownKey> list;
    for (const auto& f : Fields()) list.push_back({f.key, f.type, f.meaning, f.write({})});
    return list;
  }();
  return keys;
}

MultiSlotRule PolicyConfig::MultiSlotOf(const std::string& cls) const {
  const auto it = multi_slot_classes.find(cls);
  return it != multi_slot_classes.end() ? it->second
                                        : MultiSlotRule{multi_slot_age, multi_slot_step};
}

bool PolicyConfig::KeepsSlots() const {
  return multi_slot_age >= 0 ||
         std::any_of(multi_slot_classes.begin(), multi_slot_classes.end(),
                     [](const auto& rule) { return rule.second.age >= 0; });
}

bool PolicyConfig::TooWideToQueue(const std::string& cls, int slots, int max) const {
  if (slots <= 1 || slots <= multi_slot_queue * max) return false;
  return policy == PolicyKind::kFairshare && MultiSlotOf(cls).age < 0;
}

std::string ToString(PolicyKind kind) {
  for (const auto& [value, word] : kPolicies)
    if (value == kind) return word;
  return "fifo";
}

std::string ToString(Aggregate aggregate) {
  for (const auto& [value, word] : kAggregates)
    if (value == aggregate) return word;
  return "none";
}

}  // namespace cigri::policy
