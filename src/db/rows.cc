#include "db/rows.h"

#include "db/native.h"
#include "db/rows_impl.h"

namespace cigri::db {

std::size_t Rows::size() const { return impl_->result.size(); }
std::size_t Rows::affected() const { return impl_->result.affected_rows(); }

namespace {

pqxx::field At(const pqxx::result& result, std::size_t row, int column) {
  return result.at(static_cast<pqxx::result::size_type>(row))
      .at(static_cast<pqxx::row::size_type>(column));
}

[[noreturn]] void Unreadable(const Rows::Impl& impl, int column, const std::string& why) {
  throw Error(impl.statement + ": column " + impl.result.column_name(column) + " " + why);
}

template <typename T>
T Value(const Rows::Impl& impl, std::size_t row, int column) {
  const auto field = At(impl.result, row, column);
  if (field.is_null()) Unreadable(impl, column, "is NULL");
  try {
    return field.as<T>();
  } catch (const std::exception& e) {
    Unreadable(impl, column, "cannot be read: " + std::string(e.what()));
  }
}

template <typename T>
std::optional<T> MaybeValue(const Rows::Impl& impl, std::size_t row, int column) {
  if (At(impl.result, row, column).is_null()) return std::nullopt;
  return Value<T>(impl, row, column);
}

// The elements of an array as texts; a NULL element is an empty one.
std::vector<std::string> Texts(const pqxx::field& field) {
  std::vector<std::string> out;
  if (field.is_null()) return out;
  using Juncture = pqxx::array_parser::juncture;
  auto parser = field.as_array();
  for (auto item = parser.get_next(); item.first != Juncture::done; item = parser.get_next()) {
    if (item.first == Juncture::string_value) out.push_back(item.second);
    if (item.first == Juncture::null_value) out.emplace_back();
  }
  return out;
}

template <typename T>
std::vector<T> Numbers(const pqxx::field& field) {
  std::vector<T> out;
  for (const auto& text : Texts(field)) {
    out.emplace_back();
    pqxx::from_string(text, out.back());
  }
  return out;
}

}  // namespace

#define CIGRI_SCALAR(T)                                  \
  template <>                                            \
  T RowReader::Get<T>() {                                \
    return Value<T>(*rows_.impl_, row_, column_++);      \
  }                                                      \
  template <>                                            \
  std::optional<T> RowReader::Get<std::optional<T>>() {  \
    return MaybeValue<T>(*rows_.impl_, row_, column_++); \
  }
CIGRI_SCALAR(bool)
CIGRI_SCALAR(int)
CIGRI_SCALAR(std::int64_t)
CIGRI_SCALAR(double)
CIGRI_SCALAR(std::string)
#undef CIGRI_SCALAR

template <>
std::vector<std::string> RowReader::Get<std::vector<std::string>>() {
  return Texts(At(rows_.impl_->result, row_, column_++));
}
template <>
std::vector<int> RowReader::Get<std::vector<int>>() {
  return Numbers<int>(At(rows_.impl_->result, row_, column_++));
}
template <>
std::vector<std::int64_t> RowReader::Get<std::vector<std::int64_t>>() {
  return Numbers<std::int64_t>(At(rows_.impl_->result, row_, column_++));
}
template <>
std::vector<double> RowReader::Get<std::vector<double>>() {
  return Numbers<double>(At(rows_.impl_->result, row_, column_++));
}

std::string RowReader::Bytes() {
  const auto field = At(rows_.impl_->result, row_, column_++);
  return field.is_null() ? std::string() : pqxx::binarystring(field).str();
}

}  // namespace cigri::db
