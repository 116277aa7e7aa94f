#include "notifier/deliver.h"

#include <curl/curl.h>

#include <cstring>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "process/run.h"

namespace cigri::notifier {
namespace {

constexpr long kPatience_s = 20;

struct Upload {
  std::string text;
  std::size_t at = 0;
};

std::size_t Next(char* to, std::size_t size, std::size_t n, void* from) {
  auto* upload = static_cast<Upload*>(from);
  const std::size_t length = std::min(size * n, upload->text.size() - upload->at);
  std::memcpy(to, upload->text.data() + upload->at, length);
  upload->at += length;
  return length;
}

std::string Date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &utc)};
}

// RFC 2047, when it must be: names of campaigns are UTF-8.
std::string HeaderText(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 32 && c < 127; });
  if (plain) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(at + 30, text.size());
    while (end < text.size() && (text[end] & 0xC0) == 0x80) --end;  // whole characters
    out += out.empty() ? "=?UTF-8?Q?" : "\r\n =?UTF-8?Q?";
    for (; at < end; ++at) {
      char hex[4];
      std::snprintf(hex, sizeof hex, "=%02X", static_cast<unsigned char>(text[at]));
      out += hex;
    }
    out += "?=";
  }
  return out;
}

std::string Mail(const std::string& from, const Message& message, const std::string& message_id) {
  return "From: " + from + "\r\nTo: " + message.identity +
         "\r\nSubject: " + HeaderText(message.subject) + "\r\nDate: " + Date() +
         "\r\nMessage-ID: <" + message_id +
         ">\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
         "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" +
         ReplaceAll(ReplaceAll(ValidUtf8(message.body), "\r", ""), "\n", "\r\n");
}

// One address and nothing else: no second recipient, no parameter of SMTP.
bool IsAddress(const std::string& text) {
  const auto at = text.find('@');
  return at != text.npos && at > 0 && at + 1 < text.size() && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c > 32 && c < 127 && std::strchr("<>()[],;:\\\"", c) == nullptr;
         });
}

Delivery SendMail(const Config& config, const Message& message, const std::string& message_id) {
  const std::string server = config.Get("NOTIFICATIONS_SMTP_SERVER");
  if (server.empty()) return {false, true, "NOTIFICATIONS_SMTP_SERVER is not set in cigri.conf"};
  if (!IsAddress(message.identity))
    return {false, true, "\"" + message.identity + "\" is no mail address"};
  const std::string from = config.Get("NOTIFICATIONS_SMTP_FROM", "cigri@localhost");
  const std::string url = "smtp://" + server + ":" +
                          std::to_string(config.GetInt("NOTIFICATIONS_SMTP_PORT", 25, 1, 65535));
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> to(
      curl_slist_append(nullptr, message.identity.c_str()), curl_slist_free_all);
  Upload upload{Mail(from, message, message_id)};
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "smtp");
  curl_easy_setopt(curl.get(), CURLOPT_USE_SSL, static_cast<long>(CURLUSESSL_TRY));
  curl_easy_setopt(curl.get(), CURLOPT_MAIL_FROM, from.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_MAIL_RCPT, to.get());
  curl_easy_setopt(curl.get(), CURLOPT_READFUNCTION, Next);
  curl_easy_setopt(curl.get(), CURLOPT_READDATA, &upload);
  curl_easy_setopt(curl.get(), CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kPatience_s);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, error);
  const CURLcode code = curl_easy_perform(curl.get());
  if (code == CURLE_OK) return {true, false, ""};
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return {false, status >= 500 && status < 600, *error != '\0' ? error : curl_easy_strerror(code)};
}

Delivery RunCommand(const Config& config, const Message& message, const std::string& message_id) {
  const std::string program = config.Get("NOTIFICATIONS_COMMAND");
  if (program.empty())
    return {false, true,
            "NOTIFICATIONS_COMMAND is not set in cigri.conf: it sends " + message.type};
  process::Command command;
  command.argv = {"/bin/sh", "-c", program};
  command.time_limit = std::chrono::seconds(kPatience_s);
  command.input =
      nlohmann::json{{"id", message_id},
                     {"type", message.type},
                     {"to", message.identity},
                     {"severity", message.severity},
                     {"campaign", message.campaign_id ? nlohmann::json(*message.campaign_id)
                                                      : nlohmann::json()},
                     {"codes", message.codes},
                     {"subject", message.subject},
                     {"text", message.body}}
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
      "\n";
  const auto result = process::Run(command);
  if (result.Succeeded()) return {true, false, ""};
  return {false, false, process::HowItEnded(command, result) + ": " + result.err.substr(0, 200)};
}

}  // namespace

Delivery Deliver(const Config& config, const Message& message, const std::string& message_id) {
  return message.type == "mail" ? SendMail(config, message, message_id)
                                : RunCommand(config, message, message_id);
}

}  // namespace cigri::notifier
