// A text that is mostly empty.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace cigri {

/// A string in the room of a pointer, for rows of which there are a hundred thousand and few have
/// one: copying and dropping an empty one costs a look at the pointer.
class RareText {
 public:
  RareText() = default;
  RareText(std::string_view text)  // NOLINT(google-explicit-constructor): it is a string
      : text_(text.empty() ? nullptr : std::make_unique<std::string>(text)) {}
  RareText(const std::string& text) : RareText(std::string_view(text)) {}  // NOLINT
  RareText(const char* text) : RareText(std::string_view(text)) {}         // NOLINT
  RareText(const RareText& other)
      : text_(other.text_ ? std::make_unique<std::string>(*other.text_) : nullptr) {}
  RareText(RareText&&) noexcept = default;
  RareText& operator=(const RareText& other) {
    if (this != &other) *this = RareText(other);
    return *this;
  }
  RareText& operator=(RareText&&) noexcept = default;
  ~RareText() = default;

  bool empty() const { return text_ == nullptr; }
  void clear() { text_.reset(); }
  const std::string& str() const {
    static const std::string nothing;
    return text_ ? *text_ : nothing;
  }
  operator const std::string&() const { return str(); }  // NOLINT
  bool operator==(const RareText& other) const { return str() == other.str(); }

 private:
  std::unique_ptr<std::string> text_;
};

}  // namespace cigri
