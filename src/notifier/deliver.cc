#include "notifier/deliver.h"

#include <curl/curl.h>

#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "process/run.h"

namespace cigri::notifier {
namespace {

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

// RFC 2047, when it must be: names of campaigns are UTF-8. An encoded word has 75 characters at
// most, and so has its line: 18 bytes are 66, behind "Subject: ".
std::string HeaderText(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 32 && c < 127; });
  if (plain) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at + WholeCharacters(std::string_view(text).substr(at), 18);
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

// Mail servers refuse lines of more than 998 bytes (RFC 5321), and an event has up to 1000
// characters.
std::string WithShortLines(const std::string& text) {
  constexpr std::size_t kLine = 900;
  std::string out;
  for (const auto& line : Split(text, '\n')) {
    std::string_view rest = line;
    while (rest.size() > kLine) {
      std::size_t end = WholeCharacters(rest, kLine);
      if (const auto space = rest.rfind(' ', end); space != rest.npos && space > kLine / 2)
        end = space;
      out.append(rest.substr(0, end)) += '\n';
      rest.remove_prefix(end);
    }
    out.append(rest) += '\n';
  }
  out.pop_back();
  return out;
}

std::string Mail(const std::string& from, const Message& message, const std::string& message_id) {
  return "From: " + from + "\r\nTo: " + message.identity +
         "\r\nSubject: " + HeaderText(ValidUtf8(message.subject)) + "\r\nDate: " + Date() +
         "\r\nMessage-ID: <" + message_id +
         ">\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
         "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" +
         ReplaceAll(WithShortLines(ReplaceAll(ValidUtf8(message.body), "\r", "")), "\n", "\r\n");
}

using Curl = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

List ListOf(const std::string& text) {
  return {curl_slist_append(nullptr, text.c_str()), curl_slist_free_all};
}

// Of SMTP and HTTP alike: 5xx, or a client's fault, will not be taken another time either.
Delivery Perform(CURL* curl, std::chrono::seconds patience,
                 const std::function<bool(long)>& permanent) {
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, static_cast<long>(patience.count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OK) return {.sent = true};
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return {.permanent = permanent(status),
          .timed_out = code == CURLE_OPERATION_TIMEDOUT,
          .error = *error != '\0' ? error : curl_easy_strerror(code)};
}

// A password is sent over TLS alone, to the server that the certificate names. Without one, TLS is
// taken where it is offered, as mail servers do among themselves: their certificates are often
// their own.
void SetSecurity(CURL* curl, const Config& config, const std::string& mode) {
  const std::string user = config.Get("NOTIFICATIONS_SMTP_USER");
  const bool must = mode != "try" || !user.empty();
  curl_easy_setopt(curl, CURLOPT_USE_SSL, static_cast<long>(must ? CURLUSESSL_ALL : CURLUSESSL_TRY));
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, must ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, must ? 2L : 0L);
  if (const std::string ca = config.Get("NOTIFICATIONS_SMTP_CA"); !ca.empty())
    curl_easy_setopt(curl, CURLOPT_CAINFO, ca.c_str());
  if (user.empty()) return;
  curl_easy_setopt(curl, CURLOPT_USERNAME, user.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, config.Get("NOTIFICATIONS_SMTP_PASSWORD").c_str());
}

Delivery SendToServer(const Config& config, const Message& message, const std::string& from,
                      std::string mail, std::chrono::seconds patience) {
  const std::string mode = config.Get("NOTIFICATIONS_SMTP_TLS", "try");
  if (mode != "try" && mode != "starttls" && mode != "tls")
    return {.permanent = true,
            .error = "NOTIFICATIONS_SMTP_TLS is \"" + mode + "\", not try, starttls or tls"};
  const bool at_once = mode == "tls";
  const std::string url =
      (at_once ? "smtps://" : "smtp://") + config.Get("NOTIFICATIONS_SMTP_SERVER") + ":" +
      std::to_string(config.GetInt("NOTIFICATIONS_SMTP_PORT", at_once ? 465 : 25, 1, 65535));
  const Curl curl(curl_easy_init(), curl_easy_cleanup);
  const List to = ListOf(message.identity);
  Upload upload{std::move(mail)};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  SetSecurity(curl.get(), config, mode);
  curl_easy_setopt(curl.get(), CURLOPT_MAIL_FROM, from.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_MAIL_RCPT, to.get());
  curl_easy_setopt(curl.get(), CURLOPT_READFUNCTION, Next);
  curl_easy_setopt(curl.get(), CURLOPT_READDATA, &upload);
  curl_easy_setopt(curl.get(), CURLOPT_UPLOAD, 1L);
  return Perform(curl.get(), patience, [](long status) {
    return status >= 500 && status < 600 && status != 530 && status != 535;  // a wrong password
  });
}

Delivery RunWith(std::vector<std::string> words, std::string input, std::chrono::seconds patience) {
  process::Command command;
  command.argv = std::move(words);
  command.time_limit = patience;
  command.input = std::move(input);
  const auto result = process::Run(command);
  if (result.Succeeded()) return {.sent = true};
  return {.timed_out = result.outcome == process::Outcome::kTimedOut,
          .error = process::HowItEnded(command, result) + ": " + result.err.substr(0, 200)};
}

Delivery SendMail(const Config& config, const Message& message, const std::string& message_id,
                  std::chrono::seconds patience) {
  const std::string sendmail = config.Get("NOTIFICATIONS_SENDMAIL");
  if (config.Get("NOTIFICATIONS_SMTP_SERVER").empty() && sendmail.empty())
    return {
        .permanent = true,
        .error =
            "neither NOTIFICATIONS_SMTP_SERVER nor NOTIFICATIONS_SENDMAIL is set in cigri.conf"};
  if (!IsMailAddress(message.identity))
    return {.permanent = true, .error = "\"" + message.identity + "\" is no mail address"};
  const std::string from = config.Get("NOTIFICATIONS_SMTP_FROM", "cigri@localhost");
  std::string mail = Mail(from, message, message_id);
  if (sendmail.empty()) return SendToServer(config, message, from, std::move(mail), patience);
  return RunWith({sendmail, "-i", "-f", from, "--", message.identity}, ReplaceAll(mail, "\r", ""),
                 patience);
}

std::string Json(const Message& message, const std::string& message_id) {
  const nlohmann::json json = {
      {"id", message_id},
      {"type", message.type},
      {"to", message.identity},
      {"severity", message.severity},
      {"campaign", message.campaign_id ? nlohmann::json(*message.campaign_id) : nlohmann::json()},
      {"codes", message.codes},
      {"subject", message.subject},
      {"text", message.body}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Delivery PostTo(const std::string& url, const std::string& json, std::chrono::seconds patience) {
  const Curl curl(curl_easy_init(), curl_easy_cleanup);
  const List headers = ListOf("Content-Type: application/json");
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, json.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(
      curl.get(), CURLOPT_WRITEFUNCTION,
      +[](char*, std::size_t size, std::size_t n, void*) { return size * n; });
  Delivery delivery = Perform(curl.get(), patience, [](long status) {
    return status >= 400 && status < 500 && status != 408 && status != 429;
  });
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (!delivery.sent || (status >= 200 && status < 300)) return delivery;
  const char* target = nullptr;  // it is not followed: a POST would arrive there without its body
  curl_easy_getinfo(curl.get(), CURLINFO_REDIRECT_URL, &target);
  return {.permanent = true,
          .error = "NOTIFICATIONS_WEBHOOK answers " + std::to_string(status) +
                   (target == nullptr ? "" : std::string(", to ") + target) +
                   ": set it to an address that takes a POST (2xx)"};
}

// All that is no mail.
Delivery HandOver(const Config& config, const Message& message, const std::string& message_id,
                  std::chrono::seconds patience) {
  const std::string json = Json(message, message_id);
  if (const std::string program = config.Get("NOTIFICATIONS_COMMAND"); !program.empty())
    return RunWith({"/bin/sh", "-c", program}, json, patience);
  if (const std::string url = config.Get("NOTIFICATIONS_WEBHOOK"); !url.empty())
    return PostTo(url, json, patience);
  return {.permanent = true,
          .error =
              "neither NOTIFICATIONS_COMMAND nor NOTIFICATIONS_WEBHOOK is set in cigri.conf: "
              "they send " +
              message.type};
}

}  // namespace

Delivery Deliver(const Config& config, const Message& message, const std::string& message_id,
                 std::chrono::seconds patience) {
  return message.type == "mail" ? SendMail(config, message, message_id, patience)
                                : HandOver(config, message, message_id, patience);
}

}  // namespace cigri::notifier
