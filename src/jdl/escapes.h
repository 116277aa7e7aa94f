// Backslashes that JSON does not know, as JDLs of CiGri 3 have them: "\$HOME".
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cigri::jdl {

/// Offsets of the backslashes within strings of JSON `text` that begin no escape of JSON,
/// ascending, at most `most`. CiGri 3's parser leaves them out and keeps the character behind them.
std::vector<std::size_t> LoneBackslashes(std::string_view text, std::size_t most);

/// `text` without those backslashes, for parsers that know none.
std::string WithoutLoneBackslashes(std::string_view text);

}  // namespace cigri::jdl
