-- The driver for what waits for one key: several evaluations of one limit, none a peek, a repeat or with an id of a
-- caller's. All their answers follow from the state that the first of them finds, so that is all it tells and
-- records. A template as one_limit.lua is.
--
-- KEYS[1]  the state, a hash; fields as in driver.lua
-- ARGV     1 "<maximum clock regression> <keep>", ms    2 limit or capacity    3 window or period, ms
--          4 field of the call's record, or ''    5 the evaluations as the record has them
--          token-bucket only: 6 refill    7 grace, ms
--          then now and cost of each evaluation
-- reply    "found <written> <state> <how many were allowed>", or "unreadable 1"
@ALGORITHM@
@ONE_STATE@
local regression, keep = string.match(argv[1], '^(%d+) (%d+)$')
regression, keep = regression + 0, keep + 0
local limit, span = argv[2] + 0, argv[3] + 0
local found = stored[1] .. ' ' .. @TEXT@
local allowed, ttl = 0
for at = @FIRST@, #argv, 2 do
  local now = argv[at] + 0
  local caller_now = now
  if written - now <= regression then
    if now < written then now = written end
    local next_a, next_b, next_c, ends = @STEP@(a, b, c, argv[at + 1] + 0, now, limit, span@MORE_BATCH@)
    if next_a then
      if next_a ~= a then ttl = ends + keep - caller_now end
      written, a, b, c = now, next_a, next_b, next_c
      allowed = allowed + 1
    end
  end
end
if allowed > 0 then
  local next_a, next_b, next_c = a, b, c
  if argv[4] ~= '' then
    local record = string.format('%.0f ', written) .. found .. ' ' .. argv[5]
    redis.call('HSET', key, 'written', written, @ALL@, argv[4], record)
  else
    redis.call('HSET', key, 'written', written, @ALL@)
  end
  if ttl then redis.call('PEXPIRE', key, ttl) end
end
return 'found ' .. found .. ' ' .. allowed
