-- The driver for what nearly every call is: one evaluation of one limit, no peek, no repeat, no id of a caller's.
-- It decides as driver.lua does and leaves out what that needs for more: every argument, field and table counts
-- here. A template: the build fills in the algorithm, the names of its fields and one_state.lua.
--
-- KEYS[1]  the state, a hash; fields as in driver.lua
-- ARGV     1 now, ms    2 cost    3 "<maximum clock regression> <keep: how long the key outlives its state>", ms
--          4 limit or capacity    5 window or period, ms
--          6 place and 7 tag of the evaluation's record; 6 absent or '': none
--          8 refill    9 grace, ms; token-bucket only
-- reply    one text as in driver.lua. An allowed evaluation with a record is told by the record itself,
--          "<tag> <now> <state>".
@ALGORITHM@
@ONE_STATE@
local now_text = argv[1]
local now = now_text + 0
if now < written then
  if written - now > string.match(argv[3], '^%d+') + 0 then return 'clock-unsafe' end
  now_text, now = stored[1], written
end
local next_a, next_b, next_c, ends = @STEP@(a, b, c, argv[2] + 0, now, argv[4] + 0, argv[5] + 0@MORE@)
if not next_a then return 'denied ' .. now_text .. ' ' .. @TEXT@ end

local place, call, reply = argv[6], redis.call
if place and place ~= '' then
  reply = argv[7] .. ' ' .. now_text .. ' ' .. @TEXT@
  if next_a == a then
    call('HSET', key, 'written', now_text, @CHANGED@, place, reply)
    return reply
  end
  call('HSET', key, 'written', now_text, @ALL@, place, reply)
else
  reply = 'allowed ' .. now_text .. ' ' .. @TEXT@
  if next_a == a then
    call('HSET', key, 'written', now_text, @CHANGED@)
    return reply
  end
  call('HSET', key, 'written', now_text, @ALL@)
end
call('PEXPIRE', key, ends + string.match(argv[3], '%d+$') - argv[1])
return reply
