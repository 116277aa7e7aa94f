-- title: how many campaigns a user may have at once
-- priority: 50
-- mode: off
-- Counts campaigns that are in treatment or paused. Small ones always pass.
local most, small = 10, 100

if user.active_campaigns >= most and campaign.jobs > small then
  reject("you already have " .. user.active_campaigns .. " campaigns; the next may have at most " ..
    small .. " jobs, this has " .. campaign.jobs)
end
