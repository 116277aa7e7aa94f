// Pictures, by hand: an SVG is text, and nothing in Debian draws one from C++ without a toolkit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "sim/writers.h"

namespace cigri::sim {
namespace {

constexpr std::array<const char*, 10> kColours = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1",
                                                  "#76b7b2", "#edc948", "#ff9da7", "#9c755f",
                                                  "#86bcb6", "#d37295"};
constexpr double kLeft = 110, kWidth = 900;

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

std::string Begin(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      width, height);
}
std::string Label(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     Escaped(text));
}
std::string Box(double x, double y, double w, double h, const char* fill,
                const std::string& title = "", const char* more = "") {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
      "fill=\"{}\"{}>{}</rect>\n",
      x, y, w, h, fill, more, title.empty() ? "" : "<title>" + Escaped(title) + "</title>");
}

}  // namespace

Gantt::Gantt(const Scenario& scenario) : scenario_(scenario) {
  std::map<std::string, int> places;
  for (const auto& c : scenario.campaigns) {
    const auto [it, fresh] = places.try_emplace(c.user, static_cast<int>(users_.size()));
    if (fresh) users_.push_back(c.user);
    user_of_.push_back(it->second);
  }
}

void Gantt::Ended(const Attempt& a) {
  if (a.started < 0) return;
  const bool lost = a.end != End::kDone && a.end != End::kRunning;
  bars_.push_back({a.cluster, user_of_[a.campaign], a.slots, a.started, a.ended, lost, a.job});
}
void Gantt::LocalEnded(int cluster, double started, double ended, int slots) {
  bars_.push_back({cluster, -1, slots, started, ended, false, 0});
}

// Lowest free slots first, as one would draw it.
void Gantt::Bars(std::string& svg, std::vector<Bar>& bars, int slots, double top, double height,
                 double until) {
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) {
    return std::tuple(a.from, a.user >= 0, a.job) < std::tuple(b.from, b.user >= 0, b.job);
  });
  std::vector<double> free_at(static_cast<std::size_t>(slots), 0);
  const double row = height / slots, scale = kWidth / std::max(until, 1e-9);
  for (const auto& bar : bars) {
    int left = bar.slots;
    const char* colour = bar.user < 0 ? "#bbbbbb" : kColours[bar.user % kColours.size()];
    const std::string title = bar.user < 0
                                  ? "local"
                                  : fmt::format("{}: job {}, {} to {}", users_[bar.user], bar.job,
                                                HumanDuration(bar.from), HumanDuration(bar.to));
    for (int s = 0; s < slots && left > 0;) {
      if (free_at[s] > bar.from + 1e-9) {
        ++s;
        continue;
      }
      int to = s;
      while (to < slots && left > 0 && free_at[to] <= bar.from + 1e-9)
        free_at[to++] = bar.to, --left;
      svg += Box(kLeft + bar.from * scale, top + s * row,
                 std::max(0.3, (bar.to - bar.from) * scale), (to - s) * row, colour, title,
                 bar.lost ? " stroke=\"#d00\" fill-opacity=\"0.35\""
                          : " stroke=\"white\" stroke-width=\"0.3\"");
      s = to;
    }
  }
}

void Gantt::Areas(std::string& svg, const std::vector<Bar>& bars, int slots, double top,
                  double height, double until) {
  constexpr int kBuckets = 450;
  const double step = std::max(until, 1e-9) / kBuckets;
  std::vector<std::vector<double>> held(users_.size() + 1, std::vector<double>(kBuckets, 0));
  for (const auto& bar : bars)
    for (int b = static_cast<int>(bar.from / step); b < kBuckets && b * step < bar.to; ++b)
      held[bar.user + 1][b] +=
          bar.slots *
          std::max(0.0, std::min(bar.to, (b + 1) * step) - std::max(bar.from, b * step)) / step;
  std::vector<double> base(kBuckets, 0);
  for (std::size_t u = 0; u < held.size(); ++u) {
    const char* colour = u == 0 ? "#bbbbbb" : kColours[(u - 1) % kColours.size()];
    for (int b = 0; b < kBuckets; ++b) {
      if (held[u][b] <= 0) continue;
      const double h = height * held[u][b] / slots;
      svg += Box(kLeft + kWidth * b / kBuckets, top + base[b], kWidth / kBuckets + 0.1, h, colour);
      base[b] += h;
    }
  }
}

std::string Gantt::Svg(double until) {
  int slots = 0;
  for (const auto& c : scenario_.clusters) slots += c.slots;
  const double each = std::clamp(900.0 / std::max(1, slots), 0.05, 14.0);
  std::string body;
  double top = 30;
  const bool bars = bars_.size() <= kMostBars;
  std::vector<std::vector<Bar>> by_cluster(scenario_.clusters.size());
  for (const auto& bar : bars_) by_cluster[bar.cluster].push_back(bar);
  for (std::size_t k = 0; k < scenario_.clusters.size(); ++k) {
    const auto& c = scenario_.clusters[k];
    const double height = std::max(14.0, c.slots * each);
    body += Box(kLeft, top, kWidth, height, "#f4f4f4");
    body += Label(kLeft - 6, top + std::min(height / 2 + 4, height), c.name, "end");
    bars ? Bars(body, by_cluster[k], c.slots, top, height, until)
         : Areas(body, by_cluster[k], c.slots, top, height, until);
    top += height + 10;
  }
  for (int i = 0; i <= 6; ++i) {
    const double x = kLeft + kWidth * i / 6;
    body += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"30\" y2=\"{1:.1f}\" stroke=\"#ccc\"/>\n", x, top);
    body += Label(x, top + 14, HumanDuration(until * i / 6), "middle");
  }
  double x = kLeft;
  for (std::size_t u = 0; u < std::min<std::size_t>(users_.size(), 12); ++u, x += 80) {
    body += Box(x, 8, 10, 10, kColours[u % kColours.size()]);
    body += Label(x + 14, 17, users_[u].substr(0, 10));
  }
  return Begin(kLeft + kWidth + 30, top + 26) + body + "</svg>\n";
}

std::string PlotSvg(const std::vector<Report>& reports, const std::string& title) {
  struct Metric {
    const char* name;
    double (*of)(const Report&);
    bool percent;
  };
  static constexpr Metric kMetrics[] = {
      {"utilisation", [](const Report& r) { return r.utilisation; }, true},
      {"makespan", [](const Report& r) { return r.makespan_s; }, false},
      {"mean wait", [](const Report& r) { return r.wait_mean_s; }, false},
      {"95 % wait", [](const Report& r) { return r.wait_p95_s; }, false},
      {"share error", [](const Report& r) { return r.share_error; }, true},
      {"lost hours", [](const Report& r) { return r.lost_slot_s; }, false},
  };
  constexpr double kPanel = 240, kTall = 150;
  const double bar =
      std::min(40.0, (kPanel - 40) / static_cast<double>(std::max<std::size_t>(1, reports.size())));
  std::string body = Label(20, 20, title);
  for (std::size_t m = 0; m < std::size(kMetrics); ++m) {
    const std::size_t row = m / 3, column = m % 3;
    const double left = 20 + static_cast<double>(column) * kPanel,
                 base = 60 + kTall + static_cast<double>(row) * (kTall + 60);
    double most = 1e-12;
    for (const auto& r : reports) most = std::max(most, kMetrics[m].of(r));
    body += Label(left, base - kTall - 10, kMetrics[m].name);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const double value = kMetrics[m].of(reports[i]), h = kTall * 0.85 * value / most;
      const double x = left + static_cast<double>(i) * bar;
      const std::string text =
          kMetrics[m].percent ? fmt::format("{:.1f} %", 100 * value) : HumanDuration(value);
      body += Box(x, base - h, bar - 4, h, kColours[i % kColours.size()],
                  reports[i].label + ": " + text);
      body += Label(x, base + 12, text.substr(0, 8));
    }
  }
  double x = 20;
  for (std::size_t i = 0; i < reports.size(); ++i, x += 130) {
    body += Box(x, 505, 10, 10, kColours[i % kColours.size()]);
    body += Label(x + 14, 514, reports[i].label);
  }
  return Begin(std::max(760.0, x + 20), 530) + body + "</svg>\n";
}

}  // namespace cigri::sim
