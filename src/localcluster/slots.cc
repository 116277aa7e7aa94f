#include "localcluster/slots.h"

#include <algorithm>

namespace cigri::localcluster {

Slots::Slots(const std::string& cluster, int total, int nodes)
    : taken_(static_cast<std::size_t>(total), false), free_(total) {
  for (int node = 0; node < nodes; ++node) {
    names_.push_back(cluster + "-" + std::to_string(node + 1));
    const int share = total / nodes + (node < total % nodes ? 1 : 0);
    node_of_.insert(node_of_.end(), static_cast<std::size_t>(share), node);
  }
}

std::vector<int> Slots::Take(int n) {
  std::vector<int> room(names_.size(), 0), places;
  for (int i = 0; i < total(); ++i)
    if (!taken_[i]) ++room[node_of_[i]];
  // The fullest node that has room for all of it: large holes stay for multi-slot jobs.
  int best = -1;
  for (int node = 0; node < static_cast<int>(room.size()); ++node)
    if (room[node] >= n && (best < 0 || room[node] < room[best])) best = node;
  for (int i = 0; i < total() && static_cast<int>(places.size()) < n; ++i)
    if (!taken_[i] && (best < 0 || node_of_[i] == best)) places.push_back(i);
  Retake(places);
  return places;
}

void Slots::Retake(const std::vector<int>& places) {
  for (int i : places) {
    if (i >= total() || taken_[i]) continue;
    taken_[i] = true;
    --free_;
  }
}

void Slots::Give(const std::vector<int>& places) {
  for (int i : places) {
    if (i >= total() || !taken_[i]) continue;
    taken_[i] = false;
    ++free_;
  }
}

std::vector<std::string> Slots::Lines(const std::vector<int>& places) const {
  std::vector<std::string> lines;
  for (int i : places)
    if (i < total()) lines.push_back(names_[node_of_[i]]);
  return lines;
}

std::vector<std::size_t> ChooseVictims(const std::vector<Victim>& running, int needed) {
  for (const auto& v : running)
    if (v.ending) needed -= v.slots;
  std::vector<std::size_t> chosen;
  for (std::size_t i = running.size(); i-- > 0 && needed > 0;) {
    if (running[i].ending) continue;
    chosen.push_back(i);
    needed -= running[i].slots;
  }
  if (needed > 0) chosen.clear();
  return chosen;
}

}  // namespace cigri::localcluster
