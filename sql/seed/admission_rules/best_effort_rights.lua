-- title: who may run jobs that are not best-effort (the stock rule of CiGri)
-- priority: 10
-- mode: enforce
-- Everybody may use what a cluster leaves idle. A job that is not best-effort takes its turn
-- among the cluster's own, so its user must be listed for that cluster, or for "*" (all).
local normal_authorized = {
  -- ["froggy"] = {"alice", "bob"},
  -- ["*"] = {"carol"},
}

local function listed(cluster)
  for _, name in ipairs(normal_authorized[cluster] or {}) do
    if name == user.name then return true end
  end
  return false
end

for name, cluster in pairs(campaign.clusters) do
  if cluster.type ~= nil and cluster.type ~= "best-effort" and not listed(name) and not listed("*") then
    reject("you may only run best-effort jobs on " .. name .. ", not \"type\": \"" .. tostring(cluster.type) .. "\"")
  end
end
