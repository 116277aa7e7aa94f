#include "tools/gridadmin/session.h"

#include <libsmartcols.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "core/text.h"
#include "tools/common/examples.h"
#include "tools/common/terminal.h"

namespace cigri::gridadmin {

using nlohmann::json;

namespace {

// A command without examples of its own shows those of the command above it.
void AddExamples(CommandLine& command, const std::string& name) {
  const std::string examples = tools::ExamplesOf(name);
  if (!examples.empty()) command.AddFooter(examples);
}

// 2026-11-20T10:34:39.123456+00:00 -> 2026-11-20 10:34:39, where we are: the offset of the text is
// that of the database.
std::optional<std::string> LocalTimeText(const std::string& text) {
  std::tm day{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &day);
  if (rest == nullptr) return std::nullopt;
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  std::tm zone{};
  rest = strptime(rest, "%z", &zone);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const std::time_t t = timegm(&day) - zone.tm_gmtoff;
  std::tm here{};
  localtime_r(&t, &here);
  char out[32];
  return std::string(out, std::strftime(out, sizeof out, "%Y-%m-%d %H:%M:%S", &here));
}

}  // namespace

CommandLine& Command(CommandLine& parent, Session& session, const std::string& name,
                     const std::string& what, std::function<int()> run) {
  CommandLine& command =
      parent.AddCommand(name, what, [&session, run = std::move(run)] { session.run = run; });
  AddExamples(command, parent.name() + " " + name);
  return command;
}

CommandLine& Group(CommandLine& line, const std::string& name, const std::string& what) {
  CommandLine& group = line.AddCommand(name, what);
  AddExamples(group, line.name() + " " + name);
  return group;
}

std::string Cell(const json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_string()) return value.dump();
  const std::string text = tools::Printable(value.get<std::string>());
  return LocalTimeText(text).value_or(text);
}

void PrintJson(const json& body) {
  std::puts(body.dump(2, ' ', false, json::error_handler_t::replace).c_str());
}

void PrintItems(const Session& session, const json& body, const Columns& columns) {
  if (session.json) return PrintJson(body);
  const json& items = body.at("items");
  if (items.empty()) {
    std::puts("none");
    return;
  }
  const std::unique_ptr<libscols_table, void (*)(libscols_table*)> table(
      scols_new_table(), [](libscols_table* t) { scols_unref_table(t); });
  scols_table_set_termforce(table.get(), SCOLS_TERMFORCE_NEVER);  // never cuts what scripts read
  for (const auto& [key, heading] : columns)
    scols_table_new_column(table.get(), heading.c_str(), 0, 0);
  for (const json& item : items) {
    libscols_line* line = scols_table_new_line(table.get(), nullptr);
    for (std::size_t i = 0; i < columns.size(); ++i)
      scols_line_set_data(line, i, Cell(item.value(columns[i].first, json())).c_str());
  }
  scols_print_table(table.get());
}

void PrintObject(const Session& session, const json& object) {
  if (session.json) return PrintJson(object);
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, key.size());
  for (const auto& [key, value] : object.items())
    if (!value.is_null())
      std::printf("%-*s  %s\n", static_cast<int>(width), key.c_str(), Cell(value).c_str());
}

std::string Ask(const std::string& question, bool secret) {
  if (!tools::IsTerminal(STDIN_FILENO)) return "";
  std::fprintf(stderr, "%s ", question.c_str());
  termios before{};
  const bool hide = secret && tcgetattr(STDIN_FILENO, &before) == 0;
  if (hide) {
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  std::string line;
  std::getline(std::cin, line);
  if (hide) {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    std::fputc('\n', stderr);
  }
  return std::string(Trim(line));
}

bool Confirm(const std::string& question) {
  const std::string answer = Lower(Ask(question + " [y/N]"));
  return answer == "y" || answer == "yes";
}

json Settings(const std::vector<std::string>& words) {
  json settings = json::object();
  for (const auto& word : words) {
    const auto at = word.find('=');
    if (at == word.npos || at == 0)
      throw Fatal(kExitUsage, "not a setting: \"" + word + "\"", "write it as key=value");
    const std::string key = word.substr(0, at), text = word.substr(at + 1);
    json value = text.empty() ? json() : json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    if (StartsWith(key, "option."))
      settings["options"][key.substr(7)] = value;
    else
      settings[key] = value;
  }
  return settings;
}

std::string ReadFile(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fatal(kExitBadInput, "cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace cigri::gridadmin
