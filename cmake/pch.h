#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// These are instantiated once, in cmake/json_instances.cc: a third of the code of a file that
// reads or writes JSON. The last three have internal names of nlohmann/json 3.11, as in Debian 12.
#define CIGRI_JSON_TEMPLATES(what)                                                     \
  what template class nlohmann::basic_json<>;                                          \
  what template class std::vector<nlohmann::json>;                                     \
  what template class nlohmann::detail::serializer<nlohmann::json>;                    \
  what template class nlohmann::detail::lexer<                                         \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>; \
  what template class nlohmann::detail::parser<                                        \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
#define CIGRI_JSON_INSTANCES() CIGRI_JSON_TEMPLATES()
CIGRI_JSON_TEMPLATES(extern)
