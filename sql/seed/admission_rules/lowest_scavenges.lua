-- title: campaigns of priority lowest take what others leave
-- priority: 50
-- mode: enforce
-- The class scavenger is served after all others, and gives its slots back when the policy has
-- scavenger.preempt. A class that the user has chosen stays.
local lowest = 1

if campaign.priority == lowest and (campaign.class or "") == "" then
  campaign.class = "scavenger"
end
