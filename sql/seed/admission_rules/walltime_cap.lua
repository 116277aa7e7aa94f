-- title: no walltime longer than the cluster's max_walltime
-- priority: 30
-- mode: off
-- A shorter walltime fits into more gaps between the cluster's own jobs. Lowers it and says so.
-- The cap is the cluster's own (`gridadmin cluster set NAME option.max_walltime=7200`), else this one:
local default_cap = nil -- seconds, nil = none

for name, cluster in pairs(campaign.clusters) do
  local known = grid.clusters[name]
  local cap = known and known.max_walltime or default_cap
  if cap and cluster.walltime and cluster.walltime > cap then
    warn(name .. ": walltime lowered from " .. cluster.walltime .. " to " .. cap .. " s")
    cluster.walltime = cap
  end
end
