#include "tools/gridadmin/editor.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "process/spawn.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

std::string Editor() {
  for (const char* name : {"VISUAL", "EDITOR"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "vi";
}

// $EDITOR may hold options ("emacs -nw"): the shell splits it, as git does; the file is one word.
void RunEditor(const std::string& file) {
  const pid_t pid = process::Spawn({"/bin/sh", "-c", Editor() + " \"$1\"", "sh", file});
  if (process::Reap(pid) != 0)
    throw Fatal(kExitBadInput, "nothing saved: the editor " + Editor() + " failed",
                "set $EDITOR, or pass the text with --file");
}

class EditedText {
 public:
  EditedText(const std::string& name, const std::string& text) {
    const char* tmp = std::getenv("TMPDIR");
    std::string folder =
        std::string(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp") + "/gridadmin-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw Fatal(kExitBadInput, "cannot write to " + folder);
    folder_ = folder;
    file_ = folder + "/" + name + ".lua";
    std::ofstream(file_) << text;
  }
  const std::string& file() const { return file_; }
  void Remove() const { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_, file_;
};

}  // namespace

bool EditUntilSaved(const std::string& name, const std::string& text,
                    const std::function<std::string(const std::string&)>& save) {
  const EditedText file(name, text);
  for (;;) {
    RunEditor(file.file());
    const std::string edited = ReadFile(file.file());
    if (edited == text) break;
    const std::string why = save(edited);
    if (why.empty()) break;
    std::fprintf(stderr, "gridadmin: %s\n", why.c_str());
    if (!Confirm("edit it again?"))
      throw Fatal(kExitBadInput, "nothing saved", "your text is in " + file.file());
  }
  const bool changed = ReadFile(file.file()) != text;
  file.Remove();
  return changed;
}

}  // namespace cigri::gridadmin
