-- title: how many test campaigns a user may have at once
-- priority: 40
-- mode: enforce
-- Test campaigns go before all others: a user with many of them would pass everybody.
local most = 2

if campaign.type == "test" and user.active_test_campaigns >= most then
  reject("you already have " .. user.active_test_campaigns .. " test campaigns; at most " .. most ..
    " may run at once")
end
