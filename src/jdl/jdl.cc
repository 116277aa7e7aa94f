#include "jdl/jdl.h"

#include "core/text.h"
#include "jdl/check.h"
#include "jdl/document.h"

namespace cigri::jdl {

using nlohmann::json;

std::vector<Fault> Placed(const std::set<RawFault>& raw, std::string_view text, bool has_text) {
  std::vector<Fault> faults;
  std::size_t at = 0;
  int line = 1, column = 1;
  for (const auto& fault : raw) {
    for (; at < std::min(fault.offset, text.size()); ++at) {
      if (text[at] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) {
        ++column;
      }
    }
    faults.push_back(
        {has_text ? line : 0, has_text ? column : 0, fault.key, fault.message, fault.hint});
  }
  return faults;
}

namespace {

Result Check(Document& doc, std::string_view text, const Defaults& defaults,
             const Options& options) {
  Result result;
  result.params_begin = doc.params.begin;
  result.params_end = doc.params.end;
  if (doc.whole && doc.root.is_object()) {
    CheckCampaign(doc, defaults, options, result.campaign);
    CheckClusters(doc, defaults, result.campaign);
  } else if (doc.whole) {
    doc.Fault("", "a JDL is an object", "{\"name\": \"...\", \"exec_file\": \"...\", ...}");
  }
  result.faults = Placed(doc.faults, text, doc.has_text);
  result.warnings = Placed(doc.warnings, text, doc.has_text);
  if (const auto at = doc.where.find("param_file"); at != doc.where.end()) {
    const auto place = Placed({{at->second, "", "", ""}}, text, doc.has_text)[0];
    result.param_file_line = place.line;
    result.param_file_column = place.column;
  }
  return result;
}

void Put(json& to, const char* key, const std::string& value) {
  if (!value.empty()) to[key] = value;
}
template <typename T>
void Put(json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}
void Put(json& to, const char* key, const std::vector<std::string>& value) {
  if (!value.empty()) to[key] = value;
}

json ToJson(const ClusterSettings& c) {
  json out = c.unknown;
  out.update(c.options);
  out["exec_file"] = c.exec_file;
  out["exec_directory"] = c.exec_directory;
  out["resources"] = c.resources;
  out["walltime"] = c.walltime_s;
  out["type"] = c.best_effort ? "best-effort" : "normal";
  out["test_mode"] = c.test_mode;
  Put(out, "setup", c.setup);
  Put(out, "properties", c.properties);
  Put(out, "project", c.project);
  Put(out, "cluster_job_type", Join(c.job_types, ","));
  Put(out, "prologue", c.prologue);
  Put(out, "epilogue", c.epilogue);
  Put(out, "prologue_walltime", c.prologue_walltime_s);
  Put(out, "epilogue_walltime", c.epilogue_walltime_s);
  Put(out, "max_jobs", c.max_jobs);
  return out;
}

}  // namespace

std::string Text(const Fault& fault, const std::string& file) {
  std::string out = file;
  if (fault.line > 0) out += ":" + std::to_string(fault.line) + ":" + std::to_string(fault.column);
  if (!fault.key.empty()) out += ": " + fault.key;
  out += ": " + fault.message;
  if (!fault.hint.empty()) out += "\nHINT: " + fault.hint;
  return out;
}

json ToJson(const Fault& fault) {
  return {{"line", fault.line},
          {"column", fault.column},
          {"key", fault.key},
          {"message", fault.message},
          {"hint", fault.hint}};
}

json ToJson(const Campaign& c) {
  json out = {{"name", c.name},
              {"jobs_type", c.type},
              {"priority", c.priority},
              {"max_tries", c.max_tries},
              {"clusters", json::object()}};
  if (c.format != kFormatLine) out["format"] = c.format;
  Put(out, "columns", c.columns);
  Put(out, "project", c.project);
  Put(out, "share_project", c.share_project);
  Put(out, "sla_group", c.sla_group);
  Put(out, "class", c.cls);
  Put(out, "scheduler", c.scheduler);
  if (!c.retry.is_null()) out["retry"] = c.retry;
  Put(out, "affinity_wait", c.affinity_wait_s);
  Put(out, "min_duration", c.min_duration_s);
  Put(out, "lost_after", c.lost_after_s);
  if (c.source == Source::kCount) out["nb_jobs"] = c.count;
  if (c.max_replicas > 0) out["finalize"] = c.max_replicas;
  if (!c.licences.empty()) out["licences"] = c.licences;
  if (!c.after.empty()) out["after"] = c.after;
  if (!c.after_any.empty()) out["after_any"] = c.after_any;
  if (c.not_before) out["not_before"] = *c.not_before;
  Put(out, "deadline", c.deadline);
  Put(out, "max_jobs_total", c.max_jobs_total);
  for (const auto& cluster : c.clusters) out["clusters"][cluster.name] = ToJson(cluster);
  return out;
}

json WithWalltimesAsText(json jdl) {
  if (!jdl.contains("clusters")) return jdl;
  for (auto& [name, block] : jdl["clusters"].items()) {
    for (const char* key : {"walltime", "prologue_walltime", "epilogue_walltime"})
      if (const auto at = block.find(key); at != block.end() && at->is_number())
        *at = FormatWalltime(at->get<std::int64_t>());
    if (block.erase("auto_walltime") > 0)
      block["walltime"] = "auto:" + block.value("walltime", std::string());
  }
  return jdl;
}

Result Parse(std::string_view text, const Defaults& defaults, const Options& options) {
  Document doc = Read(text);
  return Check(doc, text, defaults, options);
}

Result FromJson(const json& jdl, const Defaults& defaults) {
  Document doc;
  doc.root = jdl;
  doc.whole = true;
  return Check(doc, "", defaults, {});
}

}  // namespace cigri::jdl
