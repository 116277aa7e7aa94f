// A compressed archive of fetched outputs (FILE.tar.zst), by libarchive.
#pragma once
#include <functional>
#include <string>

namespace cigri::gridstat {

/// The first entry of the archive `file`; "" when there is no such file. Throws Fatal when it is no
/// archive.
std::string FirstEntry(const std::string& file);

/// Writes the archive `file`: the entry `name` with `content`, then the entries of `old` (an
/// archive that may be absent; without its first entry), then the files below `folder`, in the
/// order of their numbers. `replaced` says which names come from the folder alone. Throws Fatal.
void WriteArchive(const std::string& file, const std::string& name, const std::string& content,
                  const std::string& old, const std::string& folder,
                  const std::function<bool(const std::string&)>& replaced);

}  // namespace cigri::gridstat
