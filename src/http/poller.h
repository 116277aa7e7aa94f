// One thread that holds every connection which has nothing to be done: requests that have not
// arrived whole, kept-alive connections, long polls. So a slow client costs memory, and no thread.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/limit_uses.h"
#include "http/channel.h"
#include "http/head.h"
#include "http/limits.h"
#include "http/pace.h"
#include "http/peer.h"
#include "http/thread_pool.h"

namespace cigri::http {

/// One connection. The poller owns it; while it is served, the members of the first group belong to
/// the thread that serves it.
struct Connection {
  int socket = -1;
  std::unique_ptr<Channel> channel;  ///< of the socket
  Peer peer;
  std::string bytes;         ///< what was read and not yet answered; begins with a head
  std::optional<Head> head;  ///< of the request in `bytes`
  bool continued = false;    ///< "100 Continue" was sent for it
  std::chrono::steady_clock::time_point arrived;  ///< when it was first given to a thread
  bool parked = false;                            ///< it has waited since
  std::function<bool()> nothing_new;              ///< Served::nothing_new
  int answered = 0;                               ///< requests

  enum class Phase { kReading, kReady, kServing, kWaiting, kDraining };
  Phase phase = Phase::kReading;
  bool trusted = false;
  std::string caller;   ///< who has the connection, "uid 1000"; "" = trusted
  std::string charged;  ///< who has the request: `caller`, or whom a proxy names
  bool stranger = false;
  bool unread = false;  ///< reading: what comes is left in the socket until `look`
  std::chrono::steady_clock::time_point since, until;  ///< of the phase, where it has an end
  std::chrono::steady_clock::time_point look;  ///< waiting: when news are looked for; see `unread`
  std::uint64_t wakes = 0;                             ///< seen when it was given to a thread
  std::size_t drained = 0;
};

/// What is to happen after a request was served.
struct Served {
  bool keep = false;   ///< the connection may bring another request
  bool drain = false;  ///< close it, but let the answer arrive: more of the request is on its way
  std::chrono::milliseconds later{0};  ///< > 0: nothing was answered, serve it again after this
  /// While it says so at WakeWaiting(), the request goes on waiting. Must not wait.
  std::function<bool()> nothing_new{};
};

class Poller {
 public:
  struct Hooks {
    /// How the bytes of a socket travel.
    std::function<std::unique_ptr<Channel>(int socket)> open;
    /// Answers the request of a connection; called in a thread of the pool.
    std::function<Served(Connection&)> serve;
    /// Callers without limits. Must not wait, nor may `charge`: the poller calls them.
    std::function<bool(const Peer&)> trusted;
    /// Whom a request is charged to, "user alice"; "" = whoever has the connection.
    std::function<std::string(const Peer&, const Head&)> charge;
  };
  Poller(const Limits& limits, Hooks hooks);
  ~Poller();
  Poller(const Poller&) = delete;

  /// Serves the connections of `listener` until Stop(); requests that have arrived are answered.
  void Run(int listener);
  void Stop();
  bool running() const { return running_; }
  /// There may be news for what waits because of Served::later. The first ones look now, each other
  /// group later.
  void WakeWaiting();
  /// In `serve`, once a slow part of the request begins: charges whoever it is known to be of by
  /// now. False when that one has all the threads that he may have.
  bool ChargeAgain(Connection& connection);
  /// What callers have now. Thread-safe.
  void AddUses(limits::Uses& uses);

 private:
  using Clock = std::chrono::steady_clock;
  using Phase = Connection::Phase;
  struct Caller {
    int connections = 0, running = 0, waiting = 0;  // running: at work, or the next of ready_
    std::deque<Connection*> later;                  // beyond what may run, or may run yet
    bool idle() const { return connections == 0 && running == 0 && waiting == 0 && later.empty(); }
  };

  void AcceptAll(int listener);
  void Admit(int socket);
  bool CloseOldest(const std::string* caller);
  const std::string* Greediest() const;
  void OnEvent(Connection& connection);
  void ChargeForNothing(const Connection& connection);
  void Read(Connection& connection);
  void Advance(Connection& connection);
  void Drain(Connection& connection);
  void Refuse(Connection& connection, int status, const std::string& why);
  void Expire();
  void CloseAllIdle();
  int MsToNextDeadline() const;
  void SetDeadline(Connection& connection, std::chrono::milliseconds from_now);
  void LookAt(Connection& connection, Clock::time_point at);
  void Move(Connection& connection, Phase phase, std::uint32_t events);
  void Charge(Connection& connection);
  void Release(const std::string& caller);
  bool MayRun(const Connection& connection) const;
  void Count(const Connection& connection, int change);
  void EndTurn(const std::string& caller);
  void GiveTurns(const std::string& caller);
  void GiveTurnsToAll();
  void Dispatch();
  void Work(Connection& connection);
  void FinishServed();
  void Finish(Connection& connection, const Served& served);
  void Park(Connection& connection, std::chrono::milliseconds later);
  void Look(Connection& connection);
  void ServeNext(Connection& connection);
  void Close(Connection& connection);
  void WakeUp() const;

  const Limits& limits_;
  const Hooks hooks_;
  const int wake_, epoll_;
  std::atomic<bool> running_{false}, stopping_{false};
  std::mutex mutex_;  // of all below
  std::map<int, std::unique_ptr<Connection>> connections_;
  std::map<std::string, Caller> callers_;
  std::deque<Connection*> ready_;  // of a caller no more than may run
  Clock::time_point next_deadline_ = Clock::time_point::max();  // none is earlier
  int at_work_ = 0, trusted_at_work_ = 0, strangers_at_work_ = 0;
  std::uint64_t wakes_ = 0;
  Pace pace_;
  struct Done {
    Connection* connection;
    Served served;
    Clock::time_point begin, end;
  };
  std::mutex served_mutex_;
  std::vector<Done> served_;
  ThreadPool pool_;
};

/// The whole answer to a request that is refused here: JSON as the API's, and the end of the
/// connection.
std::string RefusalText(int status, const std::string& why);

}  // namespace cigri::http
