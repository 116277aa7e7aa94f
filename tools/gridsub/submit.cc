#include "tools/gridsub/submit.h"

#include <cstdio>

#include "core/pluralize.h"
#include "core/text.h"
#include "tools/gridsub/inputs.h"
#include "tools/gridsub/preview.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

std::string Query(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs)
    if (!value.empty()) out += (out.empty() ? "?" : "&") + key + "=" + http::PercentEncode(value);
  return out;
}

std::string Query(const Args& args, const ParameterPayload& payload) {
  const bool sent = payload.upload.has_value();
  return Query({{"upload", sent ? std::to_string(*payload.upload) : ""},
                {"format", sent ? payload.format : ""},
                {"columns", Join(payload.columns, ",")},
                {"type", args.type == "normal" ? "default" : args.type},
                {"dry_run", args.dry_run ? "1" : ""}});
}

std::string Field(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

std::vector<jdl::Fault> FaultsOf(const json& body) {
  std::vector<jdl::Fault> faults;
  if (!body.is_object() || !body.contains("faults") || !body["faults"].is_array()) return faults;
  for (const auto& f : body["faults"]) {
    if (!f.is_object()) continue;
    const auto number = [&](const char* key) {
      return f.contains(key) && f[key].is_number_integer() ? f[key].get<int>() : 0;
    };
    faults.push_back(
        {number("line"), number("column"), Field(f, "key"), Field(f, "message"), Field(f, "hint")});
  }
  return faults;
}

// The server has refused the JDL itself; false for any other kind of answer.
bool PrintRefusal(const tools::Answer& answer, const std::string& name) {
  if (answer.status != 400 || !answer.body.is_object()) return false;
  if (Field(answer.body, "title") == "Admission rule error") {
    const auto text = ReplaceAll(Field(answer.body, "message"), "\n", "\n    ");
    std::fprintf(stderr, "Admission rule error:\n    %s\n", text.c_str());
    return true;
  }
  auto faults = FaultsOf(answer.body);
  if (name.empty())
    for (auto& fault : faults) fault.line = 0;  // of a text that its user has not written
  PrintFaults(faults, name.empty() ? "gridsub" : name);
  return !faults.empty();
}

// A parameter that only the server found fault with is reported where its user wrote it.
void ThrowIfParameter(const tools::Answer& answer,
                      const std::optional<SourcePositions>& positions) {
  const auto& body = answer.body;
  if (!positions || answer.ok() || !body.is_object()) return;
  const auto number = body.find("parameter");
  if (number == body.end() || !number->is_number_integer()) return;
  throw Fatal(kExitBadInput, positions->Of(number->get<std::int64_t>()) +
                                 ": this parameter cannot be used: " + Field(body, "problem"));
}

// Prints what rules changed or warned of; gridsub does not repeat its own warnings.
void PrintNotes(const json& body, const JdlSource& source) {
  if (!body.contains("notes") || !body["notes"].is_array()) return;
  for (const auto& note : body["notes"]) {
    const auto text = note.is_string() ? note.get<std::string>() : note.dump();
    bool said = false;
    for (const auto& warning : source.checked.warnings)
      said = said || text.find(warning.message) != text.npos;
    if (!said) std::fprintf(stderr, "gridsub: note: %s\n", text.c_str());
  }
}

// A cluster that takes none of its jobs as things are: drained, too small, silent.
void PrintUnmatched(const json& body) {
  for (const auto& cluster : body.value("clusters_state", json::array()))
    if (cluster.is_object() && !cluster.value("matched", true))
      std::fprintf(stderr, "gridsub: note: nothing runs on %s at present: %s\n",
                   Field(cluster, "name").c_str(), Field(cluster, "why").c_str());
}

void PrintDetails(const Args& args, const json& body) {
  if (args.details) std::printf("%s\n", body.dump(2).c_str());
}

json ValueOf(const std::string& key, const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (key == "clusters") return Split(text, ',');
  if (digits && text.size() < 10) return std::stoi(text);
  // after=[3,4], after=[], licences={"matlab":2}
  if (const json value = json::parse(text, nullptr, false); value.is_array() || value.is_object())
    return value;
  return text;
}

// The campaign is there already: what is wrong with an address is a note.
void Notify(tools::Api& api, const std::vector<std::string>& addresses, std::int64_t campaign) {
  for (const auto& address : addresses) {
    const bool jabber = StartsWith(address, "jabber:");
    const auto answer =
        api.Post(jabber ? "/notifications/jabber" : "/notifications/mail",
                 {{"identity", jabber ? address.substr(7) : address},
                  {"severity", "high"},
                  {"campaign", campaign}});
    if (!answer.ok())
      std::fprintf(stderr, "gridsub: note: %s is not notified: %s\n", address.c_str(),
                   answer.body.is_object() ? Field(answer.body, "message").c_str() : "no answer");
    else if (const auto note = Field(answer.body, "note"); !note.empty())
      std::fprintf(stderr, "gridsub: note: %s\n", note.c_str());
  }
}

}  // namespace

Outcome Submit(tools::Api& api, const Args& args, const JdlSource& source,
               const ParameterPayload& payload) {
  UploadGuard upload(api, payload.upload);
  const auto answer = api.PostOnce("/campaigns" + Query(args, payload), source.text);
  ThrowIfParameter(answer, payload.positions);
  if (PrintRefusal(answer, source.name)) return {0, kExitBadInput};
  const json body = tools::Expect(answer, "submit " + (source.name.empty() ? "it" : source.name));
  if (args.dry_run) {
    PrintPreview(body);
    return {};
  }
  upload.Taken();
  PrintNotes(body, source);
  if (!args.results.quiet) PrintUnmatched(body);
  const auto id = body.value("id", std::int64_t{0});
  Notify(api, args.notify, id);
  std::FILE* to = args.results.print ? stderr : stdout;  // with -O, stdout is for the tasks
  std::fprintf(
      to, args.results.quiet ? "%lld\n" : "Campaign successfully submitted\nCAMPAIGN_ID=%lld\n",
      static_cast<long long>(id));
  PrintDetails(args, body);
  std::fflush(stdout);
  return {id, kExitOk};
}

// A campaign of values (the `--` form, a CSV) takes rows: a line is then one value, as it stands.
struct Rows {
  LineUse use = LineUse::kJdl;
  std::vector<std::string> columns;
};

Rows RowsOf(tools::Api& api, std::int64_t campaign) {
  const std::string id = std::to_string(campaign);
  const auto body =
      tools::Expect(api.Get("/campaigns/" + id + "/jdl"), "add parameters to campaign " + id);
  if (Field(body, "format") != jdl::kFormatValues) return {};
  Rows rows{LineUse::kValue, {}};
  for (const auto& column : body.value("columns", json::array()))
    if (column.is_string()) rows.columns.push_back(column.get<std::string>());
  return rows;
}

std::vector<std::string> AddRows(const Args& args, const Rows& rows, LineSink& sink) {
  const std::string what = "campaign " + std::to_string(args.campaign);
  if (args.csv.empty() && rows.columns.size() > 1)
    throw Fatal(kExitBadInput, what + " has the columns " + Join(rows.columns, ","),
                "give them as a CSV: --csv FILE");
  if (!args.csv.empty() && rows.use == LineUse::kJdl)
    throw Fatal(kExitBadInput, what + " takes lines, not the columns of a CSV", "-a FILE");
  if (!args.csv.empty() && rows.columns.empty())
    throw Fatal(kExitBadInput, "the values of " + what + " have no names, as columns of a CSV have",
                "-J '[[\"a\", \"b\"]]', or -F FILE with such rows");
  const auto columns = AddParameters(args, rows.use, sink);
  if (columns != rows.columns && !columns.empty())
    throw Fatal(kExitBadInput, ParametersName(args) + ":1: the columns are " + Join(columns, ",") +
                                   ", those of " + what + " are " + Join(rows.columns, ","));
  return columns;
}

int AddToCampaign(tools::Api& api, const Args& args) {
  LineSink sink(api, ParametersName(args));
  const auto columns = AddRows(args, RowsOf(api, args.campaign), sink);
  if (sink.size() == 0)
    throw Fatal(kExitBadInput, ParametersName(args) + " is empty: there is nothing to add");
  const std::string what = std::to_string(args.campaign);
  const bool uploaded = !columns.empty() || sink.uploaded();
  const auto upload = uploaded ? std::optional(sink.ForceUpload()) : std::nullopt;
  const std::string path =
      "/campaigns/" + what + "/jobs" +
      (upload ? Query({{"upload", std::to_string(*upload)}, {"columns", Join(columns, ",")}}) : "");
  UploadGuard guard(api, upload);
  auto said = api.PostOnce(path, upload ? "" : json(sink.Held()).dump());
  ThrowIfParameter(said, sink.positions());
  const auto answer = tools::Expect(std::move(said), "add parameters to campaign " + what);
  guard.Taken();
  PrintNotes(answer, {});
  std::printf("Jobs successfully added to campaign %s\n", what.c_str());
  PrintDetails(args, answer);
  std::fflush(stdout);
  return kExitOk;
}

int ChangeCampaign(tools::Api& api, const Args& args) {
  json set = json::object();
  for (const auto& pair : args.sets) {
    const auto equals = pair.find('=');
    if (equals == pair.npos || equals == 0)
      throw Fatal(kExitUsage, "--set " + pair + ": no key=value", "like --set walltime=2:00:00");
    set[pair.substr(0, equals)] = ValueOf(pair.substr(0, equals), pair.substr(equals + 1));
  }
  const std::string id = std::to_string(args.campaign);
  const auto answer = api.Patch("/campaigns/" + id, {{"set", set}});
  if (PrintRefusal(answer, "campaign " + id)) return kExitBadInput;
  const json body = tools::Expect(answer, "change campaign " + id);
  for (const auto& change : body.value("changes", json::array()))
    std::printf("%s\n", (change.is_string() ? change.get<std::string>() : change.dump()).c_str());
  std::printf("Campaign %s changed: it counts for what is not yet sent\n", id.c_str());
  PrintDetails(args, body);
  std::fflush(stdout);
  return kExitOk;
}

int RetryFailed(tools::Api& api, const Args& args) {
  const std::string id = std::to_string(args.retry);
  const json body = tools::Expect(api.Post("/campaigns/" + id + "/retry", {{"failed", true}}),
                                  "run the failures of campaign " + id + " again");
  const auto tasks = body.value("tasks", std::int64_t{0});
  std::printf("%s of campaign %s %s again\n", Pluralize(tasks, "failed task").c_str(), id.c_str(),
              tasks == 1 ? "runs" : "run");
  PrintDetails(args, body);
  std::fflush(stdout);
  return kExitOk;
}

}  // namespace cigri::gridsub
