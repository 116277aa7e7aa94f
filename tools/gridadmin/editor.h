// The operator's own editor, on a text.
#pragma once
#include <functional>
#include <string>

namespace cigri::gridadmin {

/// Lets the user edit `text` with $VISUAL, $EDITOR or vi, in a file NAME.lua of its own, and passes
/// what came out to `save`, which returns "" or why it was not accepted: then, on a terminal, the
/// user may edit on; else, or when the user gives up, throws Fatal(kExitBadInput) naming the file,
/// which stays. Returns false when nothing was changed. The file is removed after success.
bool EditUntilSaved(const std::string& name, const std::string& text,
                    const std::function<std::string(const std::string&)>& save);

}  // namespace cigri::gridadmin
