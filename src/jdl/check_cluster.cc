#include <algorithm>

#include "core/pattern.h"
#include "core/text.h"
#include "jdl/check.h"
#include "jdl/files.h"
#include "jdl/keys.h"
#include "jdl/values.h"

namespace cigri::jdl {
namespace {

using nlohmann::json;

// Reads the block of one cluster. A key that it lacks is taken from the whole campaign.
class ClusterCheck {
 public:
  ClusterCheck(Document& doc, const Defaults& defaults, const Campaign& campaign,
               const std::string& name, const json& block)
      : doc_(doc), campaign_(campaign), block_(block), path_(Join2("clusters", name)) {
    out_.name = name;
    const auto own = defaults.clusters.find(name);
    if (own != defaults.clusters.end()) own_ = own->second;
    resources_ = own_.resources.value_or(defaults.resources);
    walltime_s_ = own_.walltime_s.value_or(defaults.walltime_s);
    directory_ = defaults.exec_directory;
  }

  ClusterSettings Run() {
    Program();
    Resources();
    Type();
    Hooks();
    Grouping();
    Checkpoint();
    ForSlurm();
    Files(FileKey::kInputs);
    Files(FileKey::kOutputs);
    Keys();
    out_.properties = Text("properties");
    out_.project = ReadName(doc_, Get("project"), 255);
    out_.test_mode = ReadFlag(doc_, Get("test_mode"));
    if (const auto n = ReadWhole(doc_, Get("max_jobs"), 1, 2147483647))
      out_.max_jobs = static_cast<int>(*n);
    return std::move(out_);
  }

 private:
  Found Get(const char* key) const {
    if (block_.contains(key)) return Find(block_, path_, key);
    return Find(doc_.root, "", key);
  }
  std::string Text(const char* key) { return ReadText(doc_, Get(key)).value_or(""); }
  void Option(const char* key, std::optional<std::int64_t> value) {
    if (value) out_.options[key] = *value;
  }

  void Program();
  void WarnOfColumns(const std::string& path, const std::string& text);
  void Resources();
  void Walltime();
  void Type();
  void Hooks();
  std::vector<std::string> Script(const char* key);
  void Grouping();
  void Checkpoint();
  void ForSlurm();
  void Files(FileKey key);
  void Keys();
  std::string MissingHint() const;

  Document& doc_;
  const Campaign& campaign_;
  const json& block_;
  const std::string path_;
  ClusterDefaults own_;
  std::string resources_, directory_;
  int walltime_s_ = 0;
  ClusterSettings out_;
};

// A mistyped exec_file is nearer to the truth than "missing".
std::string ClusterCheck::MissingHint() const {
  if (doc_.Full() || doc_.unknown_keys > 100) return "";  // it would take long, for nothing
  for (const json* object : {&block_, static_cast<const json*>(&doc_.root)})
    for (const auto& [key, value] : object->items())
      if (!ScopeOf(key) && DidYouMean(key, {"exec_file"}))
        return "is \"" + Shown(key) + "\" meant to be it?";
  return "\"exec_file\": \"PROGRAM\", here or for all clusters";
}

// Braces that are no column stay as they are, which nobody wants of a mistyped one.
void ClusterCheck::WarnOfColumns(const std::string& path, const std::string& text) {
  static const Pattern kNamed("(^|[^$\\{])\\{([A-Za-z_][A-Za-z0-9_-]*)(//|/\\.|/|\\.)?\\}");
  for (auto found = kNamed.Find(text); found;
       found = kNamed.Find(text, found.at + found.group[0].size() - 1)) {
    const auto name = found.Text(2);
    const auto placeholder = "{" + name + (found.Has(3) ? found.Text(3) : "") + "}";
    const bool ours = name == "HOME" || name == "CAMPAIGN_ID";
    if (name.size() < 2 || ours || !Placeholders(placeholder, campaign_.columns).empty()) continue;
    if (const auto near = DidYouMean(name, campaign_.columns))
      doc_.Warn(path, placeholder + " is no column: it stays as it is",
                "did you mean {" + *near + "}?");
  }
}

void ClusterCheck::Program() {
  const auto found = Get("exec_file");
  const auto text = ReadText(doc_, found);
  if (!found) doc_.FaultAtKey(path_, "the mandatory key \"exec_file\" is missing", MissingHint());
  if (text && Trim(*text).empty()) doc_.Fault(found.path, "must not be empty");
  if (text) out_.exec_file = ExpandMacros(*text, false);
  if (text && campaign_.format == kFormatValues) {
    const auto problem = TemplateProblem(*text, campaign_.columns);
    if (!problem.empty()) doc_.Fault(found.path, problem);
    WarnOfColumns(found.path, *text);
  }
  const auto directory = Get("exec_directory");
  out_.exec_directory = ExpandDirectory(ReadText(doc_, directory).value_or(directory_));
  if (out_.exec_directory.find('\n') != std::string::npos)
    doc_.Fault(directory.path, "contains a newline");
  const auto setup = Get("setup");
  if (setup && setup.value->is_array())
    out_.setup = Join(ReadTexts(doc_, setup), "\n");
  else
    out_.setup = ReadText(doc_, setup).value_or("");
}

void ClusterCheck::Resources() {
  const auto cores = ReadWhole(doc_, Get("cores"), 1, 1'000'000);
  const auto found = Get("resources");
  Option("cores", cores);
  out_.resources = cores ? "/core=" + std::to_string(*cores) : resources_;
  if (const auto text = ReadText(doc_, found)) {
    out_.resources = *text;
    const auto slots = ParseResources(*text, own_.resource_unit);
    if (!slots.problem.empty()) doc_.Fault(found.path, slots.problem, slots.hint);
  }
  Walltime();
}

// "auto" leaves the request to the grid; what stands behind "auto:" is then the most. An expanded
// JDL has the number alone, for admission rules, and also says `auto_walltime`.
void ClusterCheck::Walltime() {
  auto found = Get("walltime");
  bool is_auto = ReadFlag(doc_, Get("auto_walltime"));
  json most;
  const auto text = found && found.value->is_string() ? found.value->get<std::string>() : "";
  if (text == "auto" || StartsWith(text, "auto:")) {
    is_auto = true;
    if (text != "auto") most = text.substr(5);
    found.value = text == "auto" ? nullptr : &most;
  }
  if (is_auto) out_.options["auto_walltime"] = true;
  out_.walltime_s = ReadWalltime(doc_, found).value_or(walltime_s_);
}

void ClusterCheck::Type() {
  const auto found = Get("type");
  const auto type = ReadText(doc_, found).value_or("best-effort");
  out_.best_effort = type != "normal";
  if (type == "semi-best-effort" || type == "nightly")
    doc_.Warn(found.path, "\"" + type + "\" is run as best-effort, as in CiGri 3");
  else if (type != "best-effort" && type != "besteffort" && type != "normal")
    doc_.Fault(found.path, "must be best-effort or normal, not \"" + Shown(type) + "\"",
               "jobs_type says whether the campaign is a test");
  for (const auto& job_type : Split(Text("cluster_job_type"), ','))
    if (!Trim(job_type).empty()) out_.job_types.emplace_back(Trim(job_type));
}

std::vector<std::string> ClusterCheck::Script(const char* key) {
  const auto found = Get(key);
  std::vector<std::string> script;
  for (const auto& line : ReadTexts(doc_, found)) {
    const auto plain = WithPlainDollars(line);
    if (plain != line)
      doc_.Warn(found.path, "\"\\$\" is read as $, as in CiGri 3: the job's shell expands it",
                "write $ without a backslash");
    script.push_back(ExpandMacros(plain, true));
  }
  return script;
}

void ClusterCheck::Hooks() {
  out_.prologue = Script("prologue");
  out_.epilogue = Script("epilogue");
  out_.prologue_walltime_s = ReadWalltime(doc_, Get("prologue_walltime"));
  out_.epilogue_walltime_s = ReadWalltime(doc_, Get("epilogue_walltime"));
}

// false: each task has a job of its own; a number: so many share one; true: the grid finds out.
void ClusterCheck::Grouping() {
  constexpr char kKey[] = "temporal_grouping";
  const auto& given = block_.contains(kKey) ? block_ : doc_.root;
  const auto found = Get(kKey);
  if (found && found.value->is_number())
    Option(kKey, ReadWhole(doc_, found, 1, 1000));
  else if (given.contains(kKey) && !given[kKey].is_null() && !ReadFlag(doc_, found))
    out_.options[kKey] = 1;
}

void ClusterCheck::Checkpoint() {
  const auto found = Get("checkpoint");
  if (!found) return;
  if (!found.value->is_object()) {
    doc_.Fault(found.path, "must be an object", R"(write {"signal": "USR2", "grace": "60s"})");
    return;
  }
  for (const auto& [key, value] : found.value->items())
    if (key != "signal" && key != "grace" && key != "every" && key != "files")
      doc_.Fault(found.path, "has no key \"" + Shown(key) + "\"", "signal, grace, every or files");
  const auto signal = ReadText(doc_, Find(*found.value, found.path, "signal")).value_or("USR2");
  if (signal != "USR1" && signal != "USR2" && signal != "HUP")
    doc_.Fault(found.path + ".signal", "must be USR1, USR2 or HUP, not \"" + Shown(signal) + "\"");
  const int grace = ReadSeconds(doc_, Find(*found.value, found.path, "grace")).value_or(60);
  if (out_.walltime_s > 0 && grace >= out_.walltime_s)
    doc_.Fault(found.path + ".grace", "must be shorter than the walltime");
  json checkpoint{{"signal", signal}, {"grace", grace}};
  const auto every = Find(*found.value, found.path, "every");
  if (every && *every.value == "auto")
    checkpoint["every"] = "auto";
  else if (const auto seconds = ReadSeconds(doc_, every))
    checkpoint["every"] = *seconds;
  const auto files = Find(*found.value, found.path, "files");
  const auto names = ReadTexts(doc_, files);
  if (names.size() > kMostFiles)
    doc_.Fault(files.path, "has more than " + std::to_string(kMostFiles) + " entries");
  for (const auto& name : names) {
    const auto problem = CheckpointFileProblem(name);
    if (!problem.empty()) doc_.Fault(files.path, "\"" + Shown(name) + "\" " + problem);
    checkpoint["files"].push_back(name);
  }
  out_.options["checkpoint"] = std::move(checkpoint);
}

void ClusterCheck::ForSlurm() {
  static const Pattern kMem("(auto|(auto:)?[1-9][0-9]*(\\.[0-9]+)?[KMGT]B?)");
  for (const char* key : {"partition", "account", "qos", "constraint"})
    if (const auto text = ReadText(doc_, Get(key))) out_.options[key] = *text;
  Option("gpus", ReadWhole(doc_, Get("gpus"), 0, 10'000));
  if (const auto rate = ReadPositive(doc_, Get("start_rate"))) out_.options["start_rate"] = *rate;
  const auto mem = Get("mem");
  const auto text = ReadText(doc_, mem);
  if (text && (text->size() > 20 || !kMem.MatchesAll(*text)))
    doc_.Fault(mem.path, "\"" + Shown(*text) + "\" is no amount of memory",
               "like \"2G\", \"auto\" or \"auto:2G\"");
  else if (text)
    out_.options["mem"] = *text;
}

void ClusterCheck::Files(FileKey key) {
  const auto found = Get(Name(key));
  if (!found) return;
  const json one = json::array({*found.value});
  const json& values = found.value->is_array() ? *found.value : one;
  if (values.size() > kMostFiles)
    return doc_.Fault(found.path, "has more than " + std::to_string(kMostFiles) + " entries",
                      "a folder (\"FROM/\") is one entry");
  json entries = json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto path = found.path + "[" + std::to_string(i) + "]";
    std::string problem;
    const auto entry = ReadFileEntry(key, values[i], &problem);
    if (!problem.empty()) {
      doc_.Fault(path, problem);
      continue;
    }
    if (key == FileKey::kOutputs && !DependsOnTask(entry.to, campaign_.columns))
      doc_.Warn(path, "each task writes the same \"" + Shown(entry.to) + "\"",
                "a placeholder makes it another one for each: \"out -> out/{#}\"");
    entries.push_back(ToJson(entry));
  }
  if (!entries.empty()) out_.options[Name(key)] = std::move(entries);
}

void ClusterCheck::Keys() {
  for (const auto& [key, value] : doc_.root.items())
    if (!ScopeOf(key) && !block_.contains(key)) out_.unknown[key] = value;
  for (const auto& [key, value] : block_.items()) {
    const auto scope = ScopeOf(key);
    const std::string path = Join2(path_, key);
    if (!scope) {
      out_.unknown[key] = value;
      // Keys in a block are case-sensitive: Exec_File is not exec_file there.
      doc_.WarnOfUnknown(path, key);
    } else if (*scope == KeyScope::kCampaign) {
      doc_.Warn(path, "belongs to the whole campaign and has no effect in a cluster",
                "move it out of \"clusters\"");
    } else if (*scope == KeyScope::kDead && value != "false" && value != false) {
      doc_.Warn(path, "has no effect");
    }
  }
}

bool IsClusterName(Document& doc, const std::string& name) {
  static const Pattern kName("[A-Za-z0-9_.-]{1,64}");
  const std::string path = Join2("clusters", name);
  if (name.size() > 64 || !kName.MatchesAll(name)) {
    doc.FaultAtKey(path, "\"" + Shown(name) + "\" cannot be the name of a cluster",
                   "letters, digits and _ . - only");
    return false;
  }
  return true;
}

// Sites come and go: a JDL of CiGri 3 that names a cluster which is gone runs on the others. What
// a rule or a change of settings names must be there.
void ReportUnknown(Document& doc, const std::vector<std::string>& unknown, bool some_left,
                   const Defaults& defaults) {
  std::vector<std::string> known;
  for (const auto& [name, ignored] : defaults.clusters) known.push_back(name);
  for (const auto& name : unknown) {
    if (doc.Full()) return;
    const std::string path = Join2("clusters", name);
    const auto near = DidYouMean(name, known);
    const std::string hint =
        (near ? "did you mean \"" + *near + "\"? " : "") + "`gridclusters` lists them";
    if (some_left && doc.has_text)
      doc.Warn(path, "unknown cluster \"" + name + "\": the campaign runs on the others", hint);
    else
      doc.FaultAtKey(path, "unknown cluster \"" + name + "\"", hint);
  }
}

}  // namespace

void CheckClusters(Document& doc, const Defaults& defaults, Campaign& campaign) {
  const auto clusters = doc.root.find("clusters");
  if (clusters == doc.root.end())
    return doc.Fault("", "the mandatory key \"clusters\" is missing",
                     "\"clusters\": {\"NAME\": {}}");
  if (!clusters->is_object())
    return doc.Fault("clusters", "must be an object: the name of each cluster and its block",
                     "\"clusters\": {\"NAME\": {}}");
  if (clusters->empty())
    return doc.Fault("clusters", "names no cluster", "\"clusters\": {\"NAME\": {}}");
  static const json kEmpty = json::object();
  std::vector<std::string> unknown;
  bool some_left = false;
  for (const auto& [name, block] : clusters->items()) {
    if (!IsClusterName(doc, name)) continue;
    if (!defaults.clusters.empty() && defaults.clusters.count(name) == 0) {
      unknown.push_back(name);
      continue;
    }
    some_left = true;
    const bool none = block.is_null() || (block.is_array() && block.empty());  // Lua's empty table
    if (!none && !block.is_object())
      doc.Fault(Join2("clusters", name), "must be an object", "{} when there is nothing to say");
    else
      campaign.clusters.push_back(
          ClusterCheck(doc, defaults, campaign, name, none ? kEmpty : block).Run());
  }
  ReportUnknown(doc, unknown, some_left, defaults);
  // Where nothing is left, the rest that is wrong is reported along with the names: of a few, since
  // each of them reads the whole text again.
  constexpr std::size_t kMostUnknown = 3;
  if (!some_left)
    for (std::size_t i = 0; i < std::min(unknown.size(), kMostUnknown); ++i) {
      const json& block = clusters->at(unknown[i]);
      ClusterCheck(doc, defaults, campaign, unknown[i], block.is_object() ? block : kEmpty).Run();
    }
}

}  // namespace cigri::jdl
