#include "cluster/property_filter.h"

#include <stdexcept>
#include <vector>

#include "core/text.h"

namespace cigri::cluster {

struct PropertyFilter::Node {
  enum class Kind { kAnd, kOr, kNot, kCompare } kind = Kind::kCompare;
  std::unique_ptr<Node> left, right;
  std::string property, relation, value;
};

namespace {

using Node = PropertyFilter::Node;
using Kind = Node::Kind;

constexpr int kMostComparisons = 1000;

struct Token {
  std::string text;
  bool quoted = false;
  std::size_t at = 0;
};

std::vector<Token> Tokens(const std::string& text) {
  static constexpr std::string_view kRelation = "=!<>";
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t from = i;
    if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
      ++i;
      continue;
    }
    if (text[i] == '\'' || text[i] == '"') {
      const auto end = text.find(text[i], i + 1);
      if (end == text.npos) throw std::runtime_error("no closing quote in \"" + text + "\"");
      tokens.push_back({text.substr(i + 1, end - i - 1), true, from});
      i = end + 1;
      continue;
    }
    if (text[i] == '(' || text[i] == ')') {
      ++i;
    } else if (kRelation.find(text[i]) != kRelation.npos) {
      i = std::min(text.size(), text.find_first_not_of(kRelation, i));
    } else {
      i = std::min(text.size(), text.find_first_of(" \t\n()=!<>'\"", i));
    }
    tokens.push_back({text.substr(from, i - from), false, from});
  }
  return tokens;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text), tokens_(Tokens(text)) {}
  std::unique_ptr<Node> All() {
    auto node = Or();
    if (next_ != tokens_.size()) Fail("AND, OR or the end");
    return node;
  }

 private:
  bool Take(const std::string& word) {
    if (next_ == tokens_.size() || tokens_[next_].quoted || Lower(tokens_[next_].text) != word)
      return false;
    ++next_;
    return true;
  }
  [[noreturn]] void Fail(const std::string& wanted) const {
    const auto seen = next_ == tokens_.size() ? "the end" : "\"" + tokens_[next_].text + "\"";
    throw std::runtime_error("expected " + wanted + " at " + seen + " in \"" + text_ + "\"");
  }
  // The tree is as deep as there are of them, and each resource is looked at with all.
  void Count() {
    if (++comparisons_ > kMostComparisons)
      throw std::runtime_error("more than " + std::to_string(kMostComparisons) + " comparisons");
  }
  std::unique_ptr<Node> Join(Kind kind, std::unique_ptr<Node> a, std::unique_ptr<Node> b) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->left = std::move(a);
    node->right = std::move(b);
    return node;
  }
  std::unique_ptr<Node> Or() {
    auto node = And();
    while (Take("or")) node = Join(Kind::kOr, std::move(node), And());
    return node;
  }
  std::unique_ptr<Node> And() {
    auto node = Term();
    while (Take("and")) node = Join(Kind::kAnd, std::move(node), Term());
    return node;
  }
  std::unique_ptr<Node> Term() {
    if (++depth_ > 100) throw std::runtime_error("too many parentheses in \"" + text_ + "\"");
    std::unique_ptr<Node> node;
    if (Take("not")) {
      node = Join(Kind::kNot, Term(), nullptr);
    } else if (Take("(")) {
      node = Or();
      if (!Take(")")) Fail(")");
    } else {
      node = Comparison();
    }
    --depth_;
    return node;
  }
  std::unique_ptr<Node> Comparison() {
    Count();
    auto node = std::make_unique<Node>();
    if (next_ == tokens_.size() || tokens_[next_].quoted) Fail("the name of a property");
    node->property = tokens_[next_++].text;
    const bool negated = Take("not");
    if (Take("in")) {
      auto any = AnyOf(node->property);
      return negated ? Join(Kind::kNot, std::move(any), nullptr) : std::move(any);
    }
    if (negated) Fail("IN");
    if (next_ == tokens_.size()) Fail("= or another comparison");
    node->relation = tokens_[next_].text;
    bool known = false;
    for (const char* r : {"=", "!=", "<>", "<", "<=", ">", ">="}) known |= node->relation == r;
    if (!known || tokens_[next_].quoted) Fail("= or another comparison");
    if (++next_ == tokens_.size()) Fail("a value");
    node->value = tokens_[next_++].text;
    return node;
  }

  // ('a', 'b', 3): it is one of these.
  std::unique_ptr<Node> AnyOf(const std::string& property) {
    if (!Take("(")) Fail("(");
    std::unique_ptr<Node> any;
    while (!Take(")")) {
      if (next_ == tokens_.size()) Fail(")");
      const Token& token = tokens_[next_++];
      for (const auto& value : token.quoted ? std::vector{token.text} : Split(token.text, ',')) {
        if (value.empty() && !token.quoted) continue;
        Count();
        auto node = std::make_unique<Node>();
        node->property = property, node->relation = "=", node->value = value;
        any = any ? Join(Kind::kOr, std::move(any), std::move(node)) : std::move(node);
      }
    }
    if (!any) Fail("a value before )");
    return any;
  }

  std::string text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0, comparisons_ = 0;
};

int Compare(const std::string& a, const std::string& b) {
  char *end_a = nullptr, *end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  const bool numbers = !a.empty() && !b.empty() && *end_a == '\0' && *end_b == '\0';
  if (numbers) return x < y ? -1 : x > y ? 1 : 0;
  return a.compare(b);
}

bool Holds(const Node& node, const PropertyFilter::Values& value_of) {
  if (node.kind == Kind::kAnd) return Holds(*node.left, value_of) && Holds(*node.right, value_of);
  if (node.kind == Kind::kOr) return Holds(*node.left, value_of) || Holds(*node.right, value_of);
  if (node.kind == Kind::kNot) return !Holds(*node.left, value_of);
  const int order = Compare(value_of(node.property), node.value);
  if (node.relation == "=") return order == 0;
  if (node.relation == "<") return order < 0;
  if (node.relation == "<=") return order <= 0;
  if (node.relation == ">") return order > 0;
  if (node.relation == ">=") return order >= 0;
  return order != 0;
}

}  // namespace

PropertyFilter::PropertyFilter(const std::string& text)
    : root_(Trim(text).empty() ? nullptr : Parser(text).All()) {}
PropertyFilter::~PropertyFilter() = default;
PropertyFilter::PropertyFilter(PropertyFilter&&) noexcept = default;

bool PropertyFilter::Accepts(const Values& value_of) const {
  return root_ == nullptr || Holds(*root_, value_of);
}

}  // namespace cigri::cluster
