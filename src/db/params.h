// The parameters of a statement in PostgreSQL's text format, and sets of rows as parameters.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace cigri::db {

/// The text of one value: what Params and Array are made of.
std::string TextOf(std::int64_t value);
std::string TextOf(double value);  ///< the shortest text that reads back as the same number
std::string TextOf(bool value);
/// `value` as a text column takes it: U+FFFD in place of each NUL and of what is no UTF-8. One such
/// text, of a job or of a cluster, would make every statement that it is in fail, each time.
std::string TextOf(std::string_view value);

/// An array as text: '{1,2}'; a nullopt element is NULL. To be cast in the statement
/// ($1::bigint[]).
std::string Array(const std::vector<std::int64_t>& values);
std::string Array(const std::vector<int>& values);
std::string Array(const std::vector<double>& values);
std::string Array(const std::vector<bool>& values);
std::string Array(const std::vector<std::string>& values);
std::string Array(const std::vector<std::optional<std::string>>& values);
std::string Array(const std::vector<std::optional<std::int64_t>>& values);
std::string Array(const std::vector<std::optional<double>>& values);

/// Bytes for a bytea column.
std::string Bytea(std::string_view bytes);

/// A set of rows: one array parameter per column, read in the statement by
/// unnest($1::bigint[], $2::int[]) AS r (campaign_id, n). A column of std::optional may be NULL.
template <typename... Columns>
class RowSet {
 public:
  void Add(Columns... values) {
    std::apply([&](auto&... column) { (column.push_back(std::move(values)), ...); }, columns_);
  }
  bool empty() const { return std::get<0>(columns_).empty(); }
  std::size_t size() const { return std::get<0>(columns_).size(); }
  const std::tuple<std::vector<Columns>...>& columns() const { return columns_; }

 private:
  std::tuple<std::vector<Columns>...> columns_;
};

/// Numbers, strings (TextOf), bool, std::optional of these, vectors (arrays), and RowSets, which
/// count as one parameter per column.
class Params {
 public:
  template <typename... Args>
  explicit Params(const Args&... args) {
    (Add(args), ...);
  }
  const std::vector<std::optional<std::string>>& values() const { return values_; }

 private:
  template <typename T>
  void Add(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      values_.emplace_back(TextOf(value));
    else if constexpr (std::is_integral_v<T>)
      values_.emplace_back(TextOf(static_cast<std::int64_t>(value)));
    else if constexpr (std::is_floating_point_v<T>)
      values_.emplace_back(TextOf(static_cast<double>(value)));
    else
      values_.emplace_back(TextOf(std::string_view(value)));
  }
  void Add(std::nullopt_t) { values_.emplace_back(std::nullopt); }
  void Add(std::nullptr_t) { values_.emplace_back(std::nullopt); }
  template <typename T>
  void Add(const std::optional<T>& value) {
    if (value)
      Add(*value);
    else
      values_.emplace_back(std::nullopt);
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    values_.emplace_back(Array(values));
  }
  template <typename... Columns>
  void Add(const RowSet<Columns...>& rows) {
    std::apply([&](const auto&... column) { (Add(column), ...); }, rows.columns());
  }

  std::vector<std::optional<std::string>> values_;
};

}  // namespace cigri::db
