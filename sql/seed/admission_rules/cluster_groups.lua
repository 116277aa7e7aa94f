-- title: which groups may use a cluster
-- priority: 20
-- mode: off
-- A cluster that is not listed is open to everybody. One that is listed is left out of campaigns
-- of users who are in none of its groups; a campaign with no cluster left is refused.
local groups_of = {
  -- ["froggy"] = {"bio", "chemistry"},
}

local function allowed(cluster)
  if groups_of[cluster] == nil then return true end
  for _, wanted in ipairs(groups_of[cluster]) do
    for _, group in ipairs(user.groups) do
      if group == wanted then return true end
    end
  end
  return false
end

local closed, left = {}, 0
for name in pairs(campaign.clusters) do
  if allowed(name) then left = left + 1 else table.insert(closed, name) end
end
table.sort(closed)
require_that(left > 0, "none of your groups may use " .. table.concat(closed, ", "))
for _, name in ipairs(closed) do
  warn(name .. " left out: it is for groups " .. table.concat(groups_of[name], ", "))
  campaign.clusters[name] = nil
end
