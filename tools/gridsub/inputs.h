// Files, standard input and arguments read as parameters, as the user.
#pragma once
#include <functional>
#include <istream>
#include <memory>
#include <string>

#include "tools/gridsub/args.h"
#include "tools/gridsub/upload.h"

namespace cigri::gridsub {

/// A file opened for reading; "-" is standard input, which can be read once only.
class Input {
 public:
  /// Throws Fatal(kExitBadInput) naming the file and why.
  explicit Input(const std::string& path);
  std::istream& stream() { return *stream_; }
  const std::string& name() const { return name_; }
  /// The rest of it; throws Fatal beyond `limit` bytes.
  std::string ReadAll(std::size_t limit);

 private:
  std::unique_ptr<std::istream> owned_;
  std::istream* stream_;
  std::string name_;
};

/// "param_file" of a JDL as a path of the user's: a leading ~ or {HOME}, $VAR and ${VAR} are
/// replaced, a relative path begins at the folder of the JDL (`jdl_file`, "" = here).
std::string ParamFilePath(const std::string& text, const std::string& jdl_file);

/// How lines of text become parameter lines.
enum class LineUse {
  kJdl,   ///< stripped, as CiGri 3 does
  kValue  ///< a row of one value, byte for byte
};
void AddLines(Input& input, LineUse use, LineSink& sink);

/// Receives the columns of a CSV before its first row is read.
using ColumnsSeen = std::function<void(const std::vector<std::string>&)>;

/// Rows of a CSV; the names of its columns.
std::vector<std::string> AddCsv(Input& input, char delimiter, LineSink& sink,
                                const ColumnsSeen& seen = {});

/// A JSON array of texts and numbers (-J).
void AddJson(const std::string& text, const std::string& name, LineUse use, LineSink& sink);

/// -F: a JSON array when it begins with [, else lines.
void AddJobFile(Input& input, LineUse use, LineSink& sink);

/// What -F, -J, -a and --csv of `args` give, into `sink`; columns when it was a CSV.
std::vector<std::string> AddParameters(const Args& args, LineUse use, LineSink& sink,
                                       const ColumnsSeen& seen = {});
/// The name under which messages speak of these parameters.
std::string ParametersName(const Args& args);

}  // namespace cigri::gridsub
