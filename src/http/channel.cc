#include "http/channel.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/error.h"

namespace cigri::http {
namespace {

class Plain final : public Channel {
 public:
  explicit Plain(int socket) : socket_(socket) {}
  ssize_t Receive(char* to, std::size_t n) override {
    return ::recv(socket_, to, n, MSG_DONTWAIT);
  }
  ssize_t Send(const char* from, std::size_t n) override {
    return ::send(socket_, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void EndSending() override { ::shutdown(socket_, SHUT_WR); }

 private:
  const int socket_;
};

// A write to a closed connection raises no signal: httplib::Server ignores SIGPIPE.
class Tls final : public Channel {
 public:
  Tls(SSL* ssl, int socket) : ssl_(ssl), socket_(socket) {}
  ~Tls() override {
    Farewell();
    SSL_free(ssl_);
  }
  ssize_t Receive(char* to, std::size_t n) override {
    ERR_clear_error();
    return Result(SSL_read(ssl_, to, static_cast<int>(std::min<std::size_t>(n, INT_MAX))));
  }
  ssize_t Send(const char* from, std::size_t n) override {
    ERR_clear_error();
    return Result(SSL_write(ssl_, from, static_cast<int>(std::min<std::size_t>(n, INT_MAX))));
  }
  void EndSending() override {
    Farewell();
    ::shutdown(socket_, SHUT_WR);
  }
  bool HasPending() const override { return SSL_pending(ssl_) > 0; }

 private:
  // The peer can tell the end from a cut connection.
  void Farewell() {
    if (!broken_ && SSL_is_init_finished(ssl_) == 1) SSL_shutdown(ssl_);
    broken_ = true;
    ERR_clear_error();
  }
  ssize_t Result(int n) {
    if (n > 0) return n;
    switch (SSL_get_error(ssl_, n)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      default:
        broken_ = true;  // nothing may be written after a fault
        ERR_clear_error();
        errno = ECONNRESET;
        return -1;
    }
  }

  SSL* const ssl_;
  const int socket_;
  bool broken_ = false;
};

std::string LastFault() {
  char text[256] = "no reason given";
  if (const auto code = ERR_peek_last_error(); code != 0)
    ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

// No context: `why` says the reason.
std::shared_ptr<SSL_CTX> Load(const std::string& cert, const std::string& key, std::string* why) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(context.get(), cert.c_str()) != 1)
    *why = "cannot use the certificate " + cert + ": " + LastFault();
  else if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
    *why = "cannot use the key " + key + ": " + LastFault();
  else
    return context;
  return nullptr;
}

std::string StampOf(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return "none";
  return std::to_string(st.st_ino) + " " + std::to_string(st.st_mtim.tv_sec) + "." +
         std::to_string(st.st_mtim.tv_nsec);
}

}  // namespace

std::unique_ptr<Channel> PlainChannel(int socket) { return std::make_unique<Plain>(socket); }

TlsContext::TlsContext(std::string cert, std::string key)
    : cert_(std::move(cert)), key_(std::move(key)) {
  std::string why;
  if (!Reload(&why))
    throw Fatal(kExitConfig, why, "files in PEM that this user may read and that belong together");
}

TlsContext::~TlsContext() = default;

bool TlsContext::Reload(std::string* why) {
  const std::string stamp = StampOf(cert_) + " " + StampOf(key_);
  auto fresh = Load(cert_, key_, why);
  const std::lock_guard lock(mutex_);
  read_ = stamp;
  if (fresh) context_ = std::move(fresh);
  return context_ != nullptr && why->empty();
}

bool TlsContext::Changed() const {
  const std::string stamp = StampOf(cert_) + " " + StampOf(key_);
  const std::lock_guard lock(mutex_);
  return stamp != read_;
}

std::unique_ptr<Channel> TlsContext::Accept(int socket) const {
  const auto context = [this] {
    const std::lock_guard lock(mutex_);
    return context_;
  }();
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  SSL* ssl = SSL_new(context.get());  // keeps the context
  if (ssl == nullptr) throw std::bad_alloc();
  SSL_set_fd(ssl, socket);
  SSL_set_accept_state(ssl);
  return std::make_unique<Tls>(ssl, socket);
}

}  // namespace cigri::http
