#include "api/http/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "api/http/change_notifier.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Each answer is worked out once a second at most, and takes at most a twentieth of the time,
// however many wait for it.
constexpr milliseconds kRest{1000};
constexpr int kRestPerCost = 20;
constexpr std::chrono::seconds kLongestLook{5};
constexpr std::size_t kMostAnswers = 10'000, kMostKeyBytes = 2 << 20;  // of them
constexpr std::size_t kMostRecent = 64;  // whole ones

// What those who wait would get. Of all who wait for the same answer one asks the database after a
// notice, and the others are woken when it differs. Thread-safe.
class LastAnswers {
 public:
  /// Somebody began to work it out at `began`, after notice number `notices`, and found `tag`.
  /// Whether it is news for others, who wait for it.
  bool Set(const std::string& key, std::uint64_t notices, Clock::time_point began,
           const std::string& tag) {
    const auto now = Clock::now();
    std::lock_guard lock(mutex_);
    if (last_.size() > kMostAnswers || key_bytes_ > kMostKeyBytes) {
      last_.clear();
      key_bytes_ = 0;
    }
    const auto [at, is_new] = last_.try_emplace(key);
    if (is_new) key_bytes_ += key.size();
    Last& last = at->second;
    const bool news = now < last.awaited_until && last.tag != tag;
    last = {tag,
            notices,
            now + std::max<Clock::duration>(kRest, kRestPerCost * (now - began)),
            {},
            last.awaited_until};
    return news;
  }
  /// Somebody waits for another one than he has.
  void Await(const std::string& key, Clock::time_point until) {
    std::lock_guard lock(mutex_);
    if (const auto it = last_.find(key); it != last_.end())
      it->second.awaited_until = std::max(it->second.awaited_until, until);
  }
  /// Whether `tag` counts as the present answer; false also for the one who is to find out.
  bool Holds(const std::string& key, std::uint64_t notices, const std::string& tag) {
    const auto now = Clock::now();
    std::lock_guard lock(mutex_);
    const auto it = last_.find(key);
    if (it == last_.end() || it->second.tag != tag) return false;
    Last& last = it->second;
    if (last.notices >= notices || now < last.next || now < last.asked + kLongestLook) return true;
    last.asked = now;
    return false;
  }

 private:
  struct Last {
    std::string tag;
    std::uint64_t notices = 0;    // that it is newer than
    Clock::time_point next{};     // before, nobody asks again
    Clock::time_point asked{};    // since when somebody looks
    Clock::time_point awaited_until{};
  };
  std::mutex mutex_;
  std::map<std::string, Last> last_;
  std::size_t key_bytes_ = 0;
};

// Two requests with the same key have the same answer.
std::string KeyOf(const Request& request) {
  std::string key = request.caller.user + (request.caller.is_operator ? "\n*\n" : "\n\n") +
                    request.link_prefix + "\n" + request.path;
  for (const auto& [name, value] : request.query)
    if (name != "wait") key += "\n" + name + "\n" + value;
  return key;
}

Reply NotModified() {
  Reply reply;
  reply.status = 304;
  return reply;
}

// Its JSON is written here, for the tag and for who sends it. Weak: the same answer may be sent
// compressed or indented.
std::string Tag(Reply& reply) {
  reply.json_text = OneLine(reply.json);
  return reply.headers["ETag"] =
             fmt::format("W/\"{:x}\"", std::hash<std::string>{}(reply.json_text));
}

struct Known {
  LastAnswers last;
  RecentAnswers recent;
};

Reply Answer(const Handler& handler, const std::shared_ptr<Known>& known, Context& context,
             const Request& request) {
  const std::string key = KeyOf(request), seen = request.Header("if-none-match");
  if (request.waited.count() > 0)
    if (const auto recent = known->recent.Find(key))
      if (recent->headers.at("ETag") != seen) return *recent;
  const milliseconds wait(request.QueryInt("wait", 0, 0, kLongestWait));
  auto& notifier = *context.notifier;
  const auto notices = notifier.notices();
  const auto began = Clock::now();
  Reply reply = handler(context, request);
  if (reply.status != 200 || reply.json.is_null()) return reply;
  const std::string tag = Tag(reply);
  if (known->last.Set(key, notices, began, tag)) {
    known->recent.Keep(key, reply);
    notifier.Tell();
  }
  if (tag != seen) return reply;
  const auto left = wait - request.waited;
  // Nobody waits unnamed: their connections would cost them nothing.
  if (left.count() <= 0 || notifier.stopped() || !request.caller.identified())
    reply = NotModified();
  else {
    notifier.KeepListening();
    known->last.Await(key, Clock::now() + left);
    reply = Reply::Later(left, [known, &notifier, key, tag] {
      return known->last.Holds(key, notifier.notices(), tag);
    });
  }
  reply.headers["ETag"] = tag;
  return reply;
}

}  // namespace

void RecentAnswers::Keep(const std::string& key, const Reply& reply) {
  // What is replaced is freed after the lock: a large one takes its time.
  Recent one{std::make_shared<const Reply>(reply), Clock::now() + kRest};
  std::shared_ptr<const Reply> oldest;
  const std::lock_guard lock(mutex_);
  if (recent_.size() >= kMostRecent && recent_.count(key) == 0) {
    const auto it = std::min_element(
        recent_.begin(), recent_.end(),
        [](const auto& a, const auto& b) { return a.second.until < b.second.until; });
    oldest = std::move(it->second.reply);
    recent_.erase(it);
  }
  std::swap(recent_[key], one);
}

std::shared_ptr<const Reply> RecentAnswers::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = recent_.find(key);
  if (it == recent_.end() || it->second.until < Clock::now()) return nullptr;
  return it->second.reply;
}

Handler Live(Handler handler) {
  return [handler = std::move(handler), known = std::make_shared<Known>()](
             Context& context, const Request& request) {
    return Answer(handler, known, context, request);
  };
}

}  // namespace cigri::api
