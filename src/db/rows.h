// The rows of an answer, column by column, without a type of libpqxx in sight.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cigri::db {

/// An answer of the server. Cheap to copy.
class Rows {
 public:
  struct Impl;
  explicit Rows(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::size_t size() const;
  std::size_t affected() const;  ///< rows that an INSERT, UPDATE or DELETE changed

 private:
  friend class RowReader;
  std::shared_ptr<const Impl> impl_;
};

/// Reads one row from left to right. `Get` throws Error, which names the column, when the value is
/// NULL and T is no std::optional, or when the value is not of the type. An array that is NULL is
/// an empty vector.
class RowReader {
 public:
  RowReader(const Rows& rows, std::size_t row);
  ~RowReader();
  /// T: bool, int, std::int64_t, double, std::string, std::optional of these, or a vector of int,
  /// std::int64_t, double or std::string.
  template <typename T>
  T Get();
  /// The next column, a bytea, as its bytes; NULL is empty.
  std::string Bytes();

 private:
  struct Cursor;
  template <typename Body>
  auto Next(const Body& body);
  template <typename T>
  T Scalar();
  template <typename T>
  std::optional<T> MaybeScalar();
  template <typename T>
  std::vector<T> Numbers();

  std::unique_ptr<Cursor> at_;
};

// Defined in rows.cc.
template <>
bool RowReader::Get<bool>();
template <>
std::optional<bool> RowReader::Get<std::optional<bool>>();
template <>
int RowReader::Get<int>();
template <>
std::optional<int> RowReader::Get<std::optional<int>>();
template <>
std::int64_t RowReader::Get<std::int64_t>();
template <>
std::optional<std::int64_t> RowReader::Get<std::optional<std::int64_t>>();
template <>
double RowReader::Get<double>();
template <>
std::optional<double> RowReader::Get<std::optional<double>>();
template <>
std::string RowReader::Get<std::string>();
template <>
std::optional<std::string> RowReader::Get<std::optional<std::string>>();
template <>
std::vector<int> RowReader::Get<std::vector<int>>();
template <>
std::vector<std::int64_t> RowReader::Get<std::vector<std::int64_t>>();
template <>
std::vector<double> RowReader::Get<std::vector<double>>();
template <>
std::vector<std::string> RowReader::Get<std::vector<std::string>>();

}  // namespace cigri::db
