#include "sim/nodes.h"

#include <algorithm>

namespace cigri::sim {

Nodes::Nodes(int slots, int nodes) {
  for (int n = 0; n < nodes; ++n) {
    const int size = slots / nodes + (n < slots % nodes ? 1 : 0);
    nodes_.push_back({size, size, true});
    room_.emplace(size, n);
  }
}

std::optional<Nodes::Places> Nodes::Find(int slots) const {
  const bool wide = slots > nodes_[0].size;
  Places places;
  std::set<int> whole;
  for (auto it = room_.rbegin(); slots > 0;) {
    for (auto room = room_.lower_bound({slots, 0}); room != room_.end(); ++room) {
      if (whole.count(room->second) != 0) continue;
      places.push_back({room->second, slots});
      return places;
    }
    if (!wide) return std::nullopt;
    while (it != room_.rend() && (it->first < nodes_[it->second].size || it->first > slots)) ++it;
    if (it == room_.rend()) return std::nullopt;
    places.push_back({it->second, it->first});
    whole.insert(it->second);
    slots -= it->first;
    ++it;
  }
  return places;
}

std::optional<Nodes::Places> Nodes::Cheapest(int slots, const Cost& cost) const {
  const bool wide = slots > nodes_[0].size;
  Places places;
  std::set<int> taken;
  while (slots > 0) {
    std::pair<double, int> best{-1, -1};
    for (int n = 0; n < count(); ++n) {
      if (taken.count(n) != 0 || !works(n) || (!wide && size(n) < slots)) continue;
      const double here = cost(n, std::min(slots, size(n)));
      if (here >= 0 && (best.second < 0 || here < best.first)) best = {here, n};
    }
    const int node = best.second;
    if (node < 0) return std::nullopt;
    places.push_back({node, std::min(slots, size(node))});
    taken.insert(node);
    slots -= places.back().slots;
  }
  return places;
}

void Nodes::Change(int node, int by) {
  Node& n = nodes_[node];
  if (n.works) room_.erase({n.free, node});
  n.free += by;
  if (n.works && n.free > 0) room_.emplace(n.free, node);
}

void Nodes::Take(const Places& places) {
  for (const auto& part : places) Change(part.node, -part.slots);
}
void Nodes::Give(const Places& places) {
  for (const auto& part : places) Change(part.node, part.slots);
}

void Nodes::Fail(int node) {
  room_.erase({nodes_[node].free, node});
  nodes_[node].works = false;
}
void Nodes::Repair(int node) {
  nodes_[node].works = true;
  Change(node, 0);
}

}  // namespace cigri::sim
