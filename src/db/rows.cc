#include "db/rows.h"

#include <charconv>
#include <string_view>

#include "db/native.h"
#include "db/rows_impl.h"

namespace cigri::db {

std::size_t Rows::size() const { return impl_->result.size(); }
std::size_t Rows::affected() const { return impl_->result.affected_rows(); }

// One field after the other: libpqxx copies a shared pointer to the result for each field that is
// asked for by its number.
struct RowReader::Cursor {
  Cursor(const Rows::Impl& the_rows, const pqxx::row& row)
      : rows(the_rows), columns(row.size()), field(row.begin()) {}
  [[noreturn]] void Unreadable(const std::string& why) const {
    throw Error(rows.statement + ": column " + rows.result.column_name(column) + " " + why);
  }
  template <typename T>
  T Parsed(std::string_view text) const;
  const Rows::Impl& rows;
  const pqxx::row::size_type columns;
  pqxx::row::size_type column = 0;
  pqxx::const_row_iterator field;
};

RowReader::RowReader(const Rows& rows, std::size_t row)
    : at_(std::make_unique<Cursor>(
          *rows.impl_, rows.impl_->result.at(static_cast<pqxx::result::size_type>(row)))) {}
RowReader::~RowReader() = default;

template <typename Body>
auto RowReader::Next(const Body& body) {
  if (at_->column >= at_->columns) throw Error(at_->rows.statement + ": too few columns");
  auto value = body(static_cast<const pqxx::field&>(at_->field));
  ++at_->field, ++at_->column;
  return value;
}

namespace {

// As PostgreSQL writes it.
template <typename T>
bool Parse(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [last, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc() && last == end;
}
bool Parse(std::string_view text, bool& value) {
  value = text == "t";
  return value || text == "f";
}
bool Parse(std::string_view text, std::string& value) {
  value = text;
  return true;
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

}  // namespace

template <typename T>
T RowReader::Cursor::Parsed(std::string_view text) const {
  T value{};
  if (!Parse(text, value)) Unreadable("cannot be read: " + std::string(text.substr(0, 100)));
  return value;
}

template <typename T>
std::optional<T> RowReader::MaybeScalar() {
  return Next([&](const pqxx::field& field) {
    return field.is_null() ? std::nullopt
                           : std::optional(at_->Parsed<T>({field.c_str(), field.size()}));
  });
}

template <typename T>
T RowReader::Scalar() {
  return Next([&](const pqxx::field& field) {
    if (field.is_null()) at_->Unreadable("is NULL");
    return at_->Parsed<T>({field.c_str(), field.size()});
  });
}

template <typename T>
std::vector<T> RowReader::Numbers() {
  return Next([&](const pqxx::field& field) {
    std::vector<T> values;
    for (const auto& text : Texts(field)) values.push_back(at_->Parsed<T>(text));
    return values;
  });
}

#define CIGRI_SCALAR(T)                                 \
  template <>                                           \
  T RowReader::Get<T>() {                               \
    return Scalar<T>();                                 \
  }                                                     \
  template <>                                           \
  std::optional<T> RowReader::Get<std::optional<T>>() { \
    return MaybeScalar<T>();                            \
  }
CIGRI_SCALAR(bool)
CIGRI_SCALAR(int)
CIGRI_SCALAR(std::int64_t)
CIGRI_SCALAR(double)
CIGRI_SCALAR(std::string)
#undef CIGRI_SCALAR

template <>
std::vector<std::string> RowReader::Get<std::vector<std::string>>() {
  return Next(Texts);
}
template <>
std::vector<int> RowReader::Get<std::vector<int>>() {
  return Numbers<int>();
}
template <>
std::vector<std::int64_t> RowReader::Get<std::vector<std::int64_t>>() {
  return Numbers<std::int64_t>();
}
template <>
std::vector<double> RowReader::Get<std::vector<double>>() {
  return Numbers<double>();
}

std::string RowReader::Bytes() {
  return Next([](const pqxx::field& field) {
    return field.is_null() ? std::string() : pqxx::binarystring(field).str();
  });
}

}  // namespace cigri::db
