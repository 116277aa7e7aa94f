#include "api/admin/cluster_settings.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/http/message.h"
#include "core/hours.h"
#include "core/pattern.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

struct NumberRule {
  const char* key;
  double least;
  bool whole;
};
constexpr NumberRule kNumbers[] = {
    {"power", 1, true},         {"mode_limit", 1, true},        {"queue_s", 0, false},
    {"max_waiting", 0, true},   {"pending_kept", 0, true},      {"max_running", 0, true},
    {"min_cycle_s", 0, false},  {"max_calls_per_min", 1, true}, {"waiting_timeout_s", 1, true},
    {"stress_limit", 0, false},
};

struct WordRule {
  const char* key;
  std::vector<std::string> words;
};
const std::vector<WordRule> kWords = {
    {"mode", {"observe", "limited", "unlimited"}},
    {"api_auth_type", {"none", "header", "basic", "cert", "jwt"}},
    {"job_ratio",
     {"slow-start", "adaptive", "adaptive-2009", "adaptive-down-exponential-up"}}};

std::string AsText(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void CheckNumber(const NumberRule& rule, const json& value) {
  const std::string text = AsText(value);
  char* end = nullptr;
  const double n = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && end == text.c_str() + text.size() && std::isfinite(n);
  if (number && n >= rule.least && n <= 2147483647 && (!rule.whole || std::trunc(n) == n)) return;
  throw BadRequest(std::string(rule.key) + " cannot be \"" + text + "\"",
                   std::string("write a ") + (rule.whole ? "whole " : "") + "number of at least " +
                       std::to_string(static_cast<int>(rule.least)));
}

// Columns that must have a value.
const std::vector<std::string> kNeverEmpty = {
    "power", "stress_limit", "properties",   "queue_s",           "enabled",
    "mode",  "job_ratio",    "pending_kept", "waiting_timeout_s", "resource_unit"};

void CheckHours(const std::string& hours) {
  std::string fault;
  WithinHours(hours, std::time(nullptr), &fault);
  if (!fault.empty())
    throw BadRequest("hours: " + fault,
                     "write 22-6 for ten at night to six, or Mon-Fri 20-8,Sat,Sun");
}

}  // namespace

const std::vector<std::string>& ClusterSettings() {
  static const std::vector<std::string> settings = {
      "api_url",       "api_group",    "api_auth_type",
      "api_username",  "api_password", "api_auth_header",
      "token_command", "ssh_host",     "resource_unit",
      "power",         "properties",   "default_resources",
      "enabled",       "mode",         "mode_limit",
      "job_ratio",     "queue_s",      "max_waiting",
      "pending_kept",  "max_running",  "max_calls_per_min",
      "hours",         "min_cycle_s",  "waiting_timeout_s",
      "stress_limit",  "options"};
  return settings;
}

void CheckClusterSettings(const json& body) {
  for (const auto& key : kNeverEmpty)
    if (body.contains(key) && body[key].is_null())
      throw BadRequest(key + " cannot be empty", "give a value: " + key + "=VALUE");
  if (body.contains("enabled") && !body["enabled"].is_boolean())
    throw BadRequest("enabled cannot be \"" + AsText(body["enabled"]) + "\"",
                     "write true or false");
  const auto given = [&](const char* key) { return body.contains(key) && !body[key].is_null(); };
  for (const auto& rule : kNumbers)
    if (given(rule.key)) CheckNumber(rule, body[rule.key]);
  for (const auto& rule : kWords) {
    if (!given(rule.key)) continue;
    const auto text = AsText(body[rule.key]);
    if (std::find(rule.words.begin(), rule.words.end(), text) == rule.words.end())
      throw BadRequest(std::string(rule.key) + " cannot be \"" + text + "\"",
                       "possible: " + Join(rule.words, ", "));
  }
  if (given("hours")) CheckHours(AsText(body["hours"]));
}

void CheckClusterName(const std::string& name) {
  static const Pattern kName("[A-Za-z0-9_.-]{1,64}");
  if (name.size() <= 64 && kName.MatchesAll(name)) return;
  throw BadRequest("\"" + ValidUtf8(name).substr(0, 64) + "\" cannot be the name of a cluster",
                   "1 to 64 letters, digits and _ . -");
}

}  // namespace cigri::api
