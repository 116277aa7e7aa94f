#include "http/poller.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cigri::http {
namespace {

constexpr std::size_t kMostDrained = 1u << 20;
constexpr std::chrono::milliseconds kForNothing(5);
constexpr auto kDrainSilence = std::chrono::milliseconds(100);
constexpr std::uint32_t kWhatComes = EPOLLIN, kOnlyItsEnd = EPOLLRDHUP;
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

int MakeEpoll(int wake) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event);
  return epoll;
}

std::string CallerOf(const Peer& peer) {
  return peer.unix_socket ? "uid " + std::to_string(peer.uid)
                          : "address " + NetworkOf(peer.address);
}

bool IsAddress(const std::string& caller) { return caller.rfind("address ", 0) == 0; }

bool Gathered(const Head& head) { return head.body_bytes <= kGatheredBytes; }

std::string Beyond(const limits::Limit& limit, int most) {
  return "the limit " + std::string(limit.name) + " is reached: " + std::to_string(most) + " " +
         limit.unit + " for " + limit.scope;
}

// Many that wait for news look one group after the other, so that this takes a part of a core.
constexpr int kLookTogether = 16;
constexpr std::chrono::milliseconds kLookAgain(50);

// When something is to be done with it.
std::chrono::steady_clock::time_point Deadline(const Connection& c) {
  using Phase = Connection::Phase;
  if (c.phase == Phase::kReady || c.phase == Phase::kServing)
    return std::chrono::steady_clock::time_point::max();
  return c.phase == Phase::kWaiting || c.unread ? std::min(c.look, c.until) : c.until;
}

}  // namespace

std::string RefusalText(int status, const std::string& why) {
  const std::string body = "{\"status\":" + std::to_string(status) +
                           ",\"title\":\"Refused\",\"message\":\"" + why + "\"}\n";
  return "HTTP/1.1 " + std::to_string(status) + " Refused\r\nConnection: close\r\n" +
         (status == 429 || status == 503 ? "Retry-After: 1\r\n" : "") +
         "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

Poller::Poller(const Limits& limits, Hooks hooks)
    : limits_(limits),
      hooks_(std::move(hooks)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(MakeEpoll(wake_)),
      pool_(2 * limits.threads) {}

Poller::~Poller() {
  for (const auto& [socket, connection] : connections_) ::close(socket);
  ::close(epoll_);
  ::close(wake_);
}

void Poller::Run(int listener) {
  ::fcntl(listener, F_SETFL, ::fcntl(listener, F_GETFL) | O_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener, &event);
  running_ = true;
  for (bool accepts = true;;) {
    int wait_ms = 0;
    {
      std::lock_guard lock(mutex_);
      FinishServed();
      Expire();
      if (stopping_) {
        if (accepts) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, listener, nullptr);
        accepts = false;
        CloseAllIdle();
        if (connections_.empty()) break;
      }
      wait_ms = MsToNextDeadline();
    }
    epoll_event events[64];
    const int n = ::epoll_wait(epoll_, events, 64, wait_ms);
    std::lock_guard lock(mutex_);
    bool knocks = false;
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      std::uint64_t ignored;
      if (fd == listener) knocks = true;
      if (fd == wake_ && ::read(wake_, &ignored, sizeof ignored) < 0) continue;
      const auto at = connections_.find(fd);
      if (at != connections_.end()) OnEvent(*at->second);
    }
    // Last: a number that was closed above may come again.
    if (knocks && !stopping_) AcceptAll(listener);
  }
  pool_.Finish();
  running_ = false;
}

void Poller::Stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  ++wakes_;
  for (auto& [socket, connection] : connections_)
    if (connection->phase == Phase::kServing || connection->phase == Phase::kReady)
      ::shutdown(socket, SHUT_RD);
  WakeUp();
}

void Poller::WakeUp() const {
  const std::uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) < 0) return;  // full: awake already
}

void Poller::WakeWaiting() {
  std::lock_guard lock(mutex_);
  ++wakes_;
  const auto now = Clock::now();
  auto next = now;
  int waiting = 0;
  for (auto& [socket, connection] : connections_) {
    if (connection->phase != Phase::kWaiting) continue;
    LookAt(*connection, std::min(connection->look, next));
    if (++waiting % kLookTogether == 0) next += kLookAgain;
    if (connection->look <= now) Look(*connection);
  }
  Dispatch();
  WakeUp();
}

void Poller::Look(Connection& c) {
  const auto now = Clock::now();
  if (now >= c.until || !c.nothing_new || !c.nothing_new()) return ServeNext(c);
  LookAt(c, c.until);
}

void Poller::AcceptAll(int listener) {
  for (;;) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      Admit(socket);
    } else if (errno == EMFILE || errno == ENFILE) {
      const std::string* greediest = Greediest();
      if (greediest == nullptr || !CloseOldest(greediest)) {
        ::usleep(1000);  // none to be had now; the listener stays ready
        return;
      }
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void Poller::Admit(int socket) {
  auto owned = std::make_unique<Connection>();
  Connection& c = *owned;
  c.socket = socket;
  c.channel = hooks_.open(socket);
  c.peer = KernelPeer(socket);
  c.trusted = hooks_.trusted && hooks_.trusted(c.peer);
  if (!c.trusted) c.caller = CallerOf(c.peer);
  c.stranger = IsAddress(c.caller);
  bool one_too_many = false, full = false;
  if (!c.trusted) {
    const auto held = callers_.find(c.caller);
    one_too_many = held != callers_.end() &&
                   held->second.connections >= limits_.connections_per_caller &&
                   !CloseOldest(&c.caller);
    full = static_cast<int>(connections_.size()) >= limits_.connections && !CloseOldest(Greediest());
  }
  connections_.emplace(socket, std::move(owned));
  if (!c.trusted) ++callers_[c.caller].connections;
  if (one_too_many)
    return Refuse(c, 429, Beyond(limits::kConnections, limits_.connections_per_caller));
  if (full) return Refuse(c, 503, Beyond(limits::kAllConnections, limits_.connections));
  Move(c, Phase::kReading, kWhatComes);
  SetDeadline(c, c.stranger ? std::min(limits_.stranger_deadline, limits_.request_deadline)
                            : limits_.request_deadline);
  const auto now = Clock::now(), next = pace_.Next(c.caller, now);
  if (next <= now) return;
  c.unread = true;
  Move(c, Phase::kReading, 0);
  LookAt(c, next);
}

// Connections that bring no request take the poller's time, which all wait for.
void Poller::ChargeForNothing(const Connection& c) {
  const auto now = Clock::now();
  pace_.Spends(c.caller, now, now + kForNothing);
}

// A kept-alive connection or half a request: its loss costs an honest client a fresh connection.
// False when every connection of the caller is at work.
bool Poller::CloseOldest(const std::string* caller) {
  if (caller == nullptr) return false;
  Connection* oldest = nullptr;
  for (auto& [socket, c] : connections_)
    if (!c->trusted && c->caller == *caller &&
        (c->phase == Phase::kReading || c->phase == Phase::kDraining) &&
        (oldest == nullptr || c->since < oldest->since))
      oldest = c.get();
  if (oldest != nullptr) Close(*oldest);
  return oldest != nullptr;
}

const std::string* Poller::Greediest() const {
  const auto most = std::max_element(
      callers_.begin(), callers_.end(),
      [](const auto& a, const auto& b) { return a.second.connections < b.second.connections; });
  return most == callers_.end() ? nullptr : &most->first;
}

void Poller::OnEvent(Connection& c) {
  if (c.phase == Phase::kReading) Read(c);
  else if (c.phase == Phase::kDraining) Drain(c);
  else if (c.phase == Phase::kWaiting) Close(c);  // only its end is watched for
}

void Poller::Read(Connection& c) {
  char buffer[16384];
  // A record of TLS is no longer than the buffer: none is left half read, which no event would tell.
  const ssize_t n = c.channel->Receive(buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return Close(c);
  if (c.bytes.empty() && c.answered > 0)  // the keep-alive time ends, the request's begins
    SetDeadline(c, c.stranger ? limits_.stranger_deadline : limits_.request_deadline);
  c.bytes.append(buffer, static_cast<std::size_t>(n));
  Advance(c);
  Dispatch();
}

void Poller::AddUses(limits::Uses& uses) {
  const std::lock_guard lock(mutex_);
  uses.Add(limits::kAllConnections, static_cast<std::int64_t>(connections_.size()));
  uses.Add(limits::kAllThreads, at_work_);
  uses.Add(limits::kStrangerThreads, strangers_at_work_);
  for (const auto* limit : {&limits::kConnections, &limits::kThreads, &limits::kLongPolls})
    uses.Add(*limit, 0);
  for (const auto& [caller, has] : callers_) {
    uses.Add(limits::kConnections, has.connections, caller);
    uses.Add(limits::kThreads, has.running, caller);
    uses.Add(limits::kLongPolls, has.waiting, caller);
  }
}

// Looks whether the bytes are a request by now.
void Poller::Advance(Connection& c) {
  if (!c.head) c.head = ReadHead(c.bytes, {limits_.max_head_bytes, limits_.max_headers});
  if (!c.head) return;
  if (c.head->status != 0) return Refuse(c, c.head->status, c.head->fault);
  if (c.head->bytes + c.head->body_bytes > limits_.max_request_bytes)
    return Refuse(c, 413,
                  "the request is longer than " + std::to_string(limits_.max_request_bytes) +
                      " bytes, the limit body-bytes");
  if (Gathered(*c.head) && c.bytes.size() < c.head->bytes + c.head->body_bytes) {
    if (!c.continued && SameName(c.head->Value("Expect"), "100-continue")) {
      c.continued = true;
      if (c.channel->Send(kContinue, sizeof kContinue - 1) < 0) Close(c);
    }
    return;
  }
  c.arrived = Clock::now();
  Charge(c);
  ServeNext(c);
}

// Closing a socket with bytes unread would reset it, and the answer might be lost: some more are
// read and forgotten.
void Poller::Drain(Connection& c) {
  char buffer[16384];
  const ssize_t n = c.channel->Receive(buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  c.drained += n > 0 ? static_cast<std::size_t>(n) : 0;
  if (n <= 0 || c.drained > kMostDrained) return Close(c);
  SetDeadline(c, kDrainSilence);
}

void Poller::Refuse(Connection& c, int status, const std::string& why) {
  ChargeForNothing(c);
  const std::string text = RefusalText(status, why);
  // A refusal fits into an empty socket buffer; a full one has a client that does not read.
  if (c.channel->Send(text.data(), text.size()) < 0) return Close(c);
  c.channel->EndSending();
  Move(c, Phase::kDraining, kWhatComes);
  SetDeadline(c, kDrainSilence);
}

// Of a thousand connections, few have a deadline now: they are looked through when one may have.
void Poller::Expire() {
  const auto now = Clock::now();
  if (now < next_deadline_) return;
  std::vector<Connection*> late;
  next_deadline_ = Clock::time_point::max();
  for (auto& [socket, c] : connections_) {
    if (Deadline(*c) <= now) late.push_back(c.get());
    else next_deadline_ = std::min(next_deadline_, Deadline(*c));
  }
  for (Connection* c : late) {
    if (c->phase == Phase::kWaiting) {
      Look(*c);
    } else if (c->unread && now < c->until) {
      c->unread = false;
      Move(*c, Phase::kReading, kWhatComes);
    } else {
      Close(*c);
    }
  }
  GiveTurnsToAll();
}

void Poller::CloseAllIdle() {
  std::vector<Connection*> idle;
  for (auto& [socket, c] : connections_) {
    if (c->phase == Phase::kReading) idle.push_back(c.get());
    if (c->phase == Phase::kWaiting) ServeNext(*c);
  }
  for (Connection* c : idle) Close(*c);
  GiveTurnsToAll();
}

int Poller::MsToNextDeadline() const {
  if (next_deadline_ == Clock::time_point::max()) return -1;
  const auto ms =
      std::chrono::ceil<std::chrono::milliseconds>(next_deadline_ - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000));
}

void Poller::SetDeadline(Connection& c, std::chrono::milliseconds from_now) {
  c.until = Clock::now() + from_now;
  next_deadline_ = std::min(next_deadline_, c.until);
}

void Poller::LookAt(Connection& c, Clock::time_point at) {
  c.look = at;
  next_deadline_ = std::min(next_deadline_, at);
}

void Poller::Move(Connection& c, Phase phase, std::uint32_t events) {
  c.phase = phase;
  c.since = Clock::now();
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, c.socket, nullptr);  // without events it would tell of errors
  if (events == 0) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = c.socket;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.socket, &event);
}

// A connection that brings a token becomes its user's.
void Poller::Charge(Connection& c) {
  std::string who = hooks_.charge ? hooks_.charge(c.peer, *c.head) : "";
  c.charged = who.empty() ? c.caller : who;
  if (c.trusted || c.charged == c.caller) return;
  --callers_[c.caller].connections;
  Release(c.caller);
  ++callers_[c.charged].connections;
  c.caller = c.charged;
  c.stranger = false;
}

void Poller::Release(const std::string& caller) {
  const auto at = callers_.find(caller);
  if (at != callers_.end() && at->second.idle()) callers_.erase(at);
}

void Poller::ServeNext(Connection& c) {
  if (c.phase == Phase::kWaiting && !c.charged.empty()) {
    --callers_[c.charged].waiting;
    Release(c.charged);
  }
  Move(c, Phase::kReady, 0);
  pace_.Asks(c.charged, Clock::now());
  if (c.charged.empty()) return ready_.push_back(&c);
  callers_[c.charged].later.push_back(&c);
  GiveTurns(c.charged);
}

void Poller::EndTurn(const std::string& caller) {
  if (caller.empty()) return;
  --callers_[caller].running;
  GiveTurns(caller);
}

// The next requests of the caller get their turns, as far as limits and pace let them.
void Poller::GiveTurns(const std::string& caller) {
  Caller& has = callers_[caller];
  while (!has.later.empty() && has.running < limits_.threads_per_caller) {
    const auto now = Clock::now(), next = stopping_ ? now : pace_.Next(caller, now);
    if (next > now) {
      next_deadline_ = std::min(next_deadline_, next);
      return;
    }
    ++has.running;
    ready_.push_back(has.later.front());
    has.later.pop_front();
  }
  Release(caller);
}

void Poller::GiveTurnsToAll() {
  std::vector<std::string> queued;
  for (const auto& [caller, has] : callers_)
    if (!has.later.empty()) queued.push_back(caller);
  for (const std::string& caller : queued) GiveTurns(caller);
  Dispatch();
}

bool Poller::MayRun(const Connection& c) const {
  if (c.charged.empty()) return trusted_at_work_ < limits_.threads;
  if (c.stranger && strangers_at_work_ >= limits_.stranger_threads) return false;
  return at_work_ < limits_.threads;
}

void Poller::Dispatch() {
  for (auto at = ready_.begin(); at != ready_.end();) {
    Connection& c = **at;
    if (!MayRun(c)) {
      ++at;
      continue;
    }
    at = ready_.erase(at);
    Count(c, 1);
    c.phase = Phase::kServing;
    c.wakes = wakes_;
    pool_.Enqueue([this, &c] { Work(c); });
  }
}

void Poller::Count(const Connection& c, int change) {
  if (c.charged.empty()) {
    trusted_at_work_ += change;
    return;
  }
  at_work_ += change;
  if (c.stranger) strangers_at_work_ += change;
}

bool Poller::ChargeAgain(Connection& c) {
  std::lock_guard lock(mutex_);
  const std::string who = hooks_.charge ? hooks_.charge(c.peer, *c.head) : "";
  if (who.empty() || who == c.charged) return true;
  const auto caller = callers_.find(who);
  if (caller != callers_.end() && caller->second.running >= limits_.threads_per_caller) return false;
  const std::string before = c.charged;
  Count(c, -1);
  Charge(c);
  Count(c, 1);
  ++callers_[c.charged].running;
  EndTurn(before);
  Dispatch();
  WakeUp();  // a turn that is to come later has moved its next deadline
  return true;
}

// Not under mutex_, which the poller has again at once while it has much to do: threads would wait
// for it, and what they serve would go on counting as at work.
void Poller::Work(Connection& c) {
  const auto begin = Clock::now();
  Served served = hooks_.serve(c);
  const auto end = Clock::now();
  std::lock_guard lock(served_mutex_);
  served_.push_back({&c, std::move(served), begin, end});
  WakeUp();
}

void Poller::FinishServed() {
  std::vector<Done> served;
  {
    std::lock_guard lock(served_mutex_);
    served.swap(served_);
  }
  for (auto& [c, how, begin, end] : served) {
    pace_.Spends(c->charged, begin, end);
    Count(*c, -1);
    EndTurn(c->charged);
    Finish(*c, how);
  }
  if (!served.empty()) Dispatch();
}

void Poller::Finish(Connection& c, const Served& served) {
  c.nothing_new = served.nothing_new;
  if (served.later.count() > 0) return Park(c, served.later);
  if (served.drain) {
    c.channel->EndSending();
    Move(c, Phase::kDraining, kWhatComes);
    return SetDeadline(c, kDrainSilence);
  }
  if (!served.keep || stopping_) return Close(c);
  c.bytes.erase(0, c.head->bytes + c.head->body_bytes);
  Charge(c);
  c.head.reset();
  c.continued = c.parked = false;
  ++c.answered;
  Move(c, Phase::kReading, kWhatComes);
  SetDeadline(c, c.bytes.empty() ? std::chrono::seconds(limits_.keep_alive_s)
                                 : limits_.request_deadline);
  if (!c.bytes.empty()) Advance(c);
}

void Poller::Park(Connection& c, std::chrono::milliseconds later) {
  Charge(c);
  if (stopping_) return wakes_ == c.wakes ? Close(c) : ServeNext(c);  // it has not looked since
  if (!c.charged.empty()) {
    Caller& caller = callers_[c.charged];
    if (caller.waiting >= limits_.waiting_per_caller)
      return Refuse(c, 429, Beyond(limits::kLongPolls, limits_.waiting_per_caller));
    ++caller.waiting;
  }
  c.parked = true;
  Move(c, Phase::kWaiting, kOnlyItsEnd);
  SetDeadline(c, later);
  LookAt(c, wakes_ == c.wakes ? c.until : std::min(c.until, Clock::now() + kLookAgain));
}

void Poller::Close(Connection& c) {
  if (c.phase == Phase::kReading && c.answered == 0) ChargeForNothing(c);
  if (c.phase == Phase::kWaiting && !c.charged.empty()) {
    --callers_[c.charged].waiting;
    Release(c.charged);
  }
  if (!c.trusted) {
    --callers_[c.caller].connections;
    Release(c.caller);
  }
  const int socket = c.socket;
  connections_.erase(socket);
  // A child that has not executed its program yet has the socket, too: epoll would go on telling of
  // it, by a number that the next connection has.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
  ::close(socket);
}

}  // namespace cigri::http
