-- title: which nodes of a cluster the jobs of a project ask for
-- priority: 25
-- mode: off
-- Mark the nodes on the cluster: with a property (OAR) or a feature (Slurm) for each project that
-- may use them. Jobs of a project that is listed then run on its nodes alone. A job that asks for
-- something itself asks for both.
local nodes_of = {
  -- ["physics"] = {
  --   ["froggy"] = {properties = "physics='YES'"},
  --   ["luke"] = {constraint = "physics"},
  -- },
}

local function both(asked, of_project, word)
  if (asked or "") == "" then return of_project end
  -- Rules run again when settings change: what stands there already is not added twice.
  if string.find(asked, of_project, 1, true) then return asked end
  return "(" .. asked .. ")" .. word .. of_project
end

local project = campaign.share_project or campaign.project or ""
for name, asks in pairs(nodes_of[project] or {}) do
  local cluster = campaign.clusters[name]
  if cluster and asks.properties then
    cluster.properties = both(cluster.properties, asks.properties, " AND ")
  end
  if cluster and asks.constraint then
    cluster.constraint = both(cluster.constraint, asks.constraint, "&")
  end
end
