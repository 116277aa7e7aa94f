// Which resources of a cluster are ours to count: the properties of a cluster's row, evaluated
// over its resources, as OAR itself does for a job.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace cigri::cluster {

/// A condition like "cluster='luke' AND (mem >= 16000 OR gpu = 'YES')": comparisons with = != <> <
/// <= > >=, [NOT] IN (...), AND, OR, NOT and parentheses. Numbers compare as numbers, anything else
/// as text.
class PropertyFilter {
 public:
  /// Throws std::runtime_error saying where `text` cannot be read. "" accepts everything.
  explicit PropertyFilter(const std::string& text);
  ~PropertyFilter();
  PropertyFilter(PropertyFilter&&) noexcept;
  /// `value_of` gives a property of the resource as text, "" when it has none of that name.
  using Values = std::function<std::string(const std::string& property)>;
  bool Accepts(const Values& value_of) const;

  struct Node;

 private:
  std::unique_ptr<Node> root_;
};

}  // namespace cigri::cluster
