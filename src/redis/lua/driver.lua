-- The driver: n evaluations, in order, of one subject over the m limits of one plan, in one atomic step.
-- A template: the build puts the algorithms in.
--
-- KEYS[i]  the state of limit i, all in one hash slot. A hash of decimal fields:
--            written      the newest `now` it was written with, ms since the epoch
--            …            the algorithm's own, see its file
--          and for the plan's first limit, if its dedup is on:
--            own0…own31   evaluations with an id made by a Sluice: "<tag> <now> <states>"
--            batch0…batch3  calls of several such evaluations, of one_limit_batch.lua: "<written then> <written
--                         before> <state before> <tag>:<now>:<cost>,…"
--            records      how many evaluations with a caller's id were recorded so far
--            record_bytes what they counted against max_bytes altogether
--            id:<plan>:<id>  such an evaluation: "<number> <bytes before> <cost> <now> <policies> <states>"
--          <states> are those the evaluation found, "<a>:<b>[:<c>]" a limit, commas between, dashes for none;
--          <policies> the numbers its limits had. From both the answer follows.
-- ARGV     1 dedup ttl, ms; 0: off    2 max_entries    3 max_bytes    4 <policies>
--          for each limit, from 7 i − 2 on: algorithm, limit, span, refill, grace, maximum clock regression, keep: how
--            long the key outlives the end of its state, ms
--          for each evaluation, from 7 m + 5 on: now, cost, mode (evaluate, repeat, peek), field of its record or '', its
--            tag (own…) or bytes (id:…)
-- reply    one text an evaluation: "allowed <now> <states>", or the record "<tag> <now> <states>" where there is one
--          in own…; "denied <now> <states>", "replayed <record>", "in-batch <record>", "conflict <recorded cost>",
--          "clock-unsafe", or "ambiguous": a repeat whose record may have been dropped.
--          Or one for all: "unreadable <limit>": the key holds something else
--
-- Everything is read and checked before the first write. Denials and peeks write nothing. A table, a closure, a
-- variable that one holds and a formatted number cost about as much as a command each, so there are few.
@ALGORITHMS@
@RECORDS@
local keys, argv, number = KEYS, ARGV, tonumber

-- Each limit's state as HMGET gives it, as numbers: written, a, b, c. Then what a step of an evaluation makes of it,
-- 5 to 8: a, b, c and when the state ends; and 9: the TTL to write, if it changes. `text` tells of all states.
local states, text = {}, ''
for i = 1, #keys do
  local key, _, field_a, field_b, field_c = keys[i], algorithm_of(argv[7 * i - 2])
  local stored
  if field_c then
    stored = redis.pcall('HMGET', key, 'written', field_a, field_b, field_c)
  else
    stored = redis.pcall('HMGET', key, 'written', field_a, field_b)
  end
@CHECKED_STATE@
  text = text .. (i > 1 and ',' or '') .. stored[2] .. ':' .. stored[3] .. (field_c and ':' .. stored[4] or '')
  stored[1], stored[2], stored[3], stored[4] = written, a, b, c
  states[i] = stored
end

local written_text          -- the time of the newest evaluation that changed the states, if any did
local records               -- what may be known of evaluations, once one asks
local added                 -- fields of the first key and what goes there, by turns

local function evaluate(at)
  local now_text, cost, mode, field, tag = argv[at], argv[at + 1] + 0, argv[at + 2], argv[at + 3], argv[at + 4]
  local caller_now, is_repeat = now_text + 0, mode == 'repeat'
  local now, unsafe = caller_now, false
  for i = 1, #keys do
    local written = states[i][1]
    if written - caller_now > argv[7 * i + 3] + 0 then unsafe = true end
    if written > now then now = written end
  end
  -- A repeat comes late, with the `now` of its first try: others may have moved the states' time on.
  if unsafe and not is_repeat then return 'clock-unsafe' end
  local is_callers = string.sub(field, 1, 3) == 'id:'
  if is_callers or (is_repeat and field ~= '') then
    records = records or records_of(keys[1], argv[1] + 0, argv[2] + 0, argv[3] + 0)
    local answer
    if is_callers then
      answer = records.answer_callers(field, argv[at + 1], is_repeat, caller_now, now)
    else
      answer = records.answer_own(field, tag, caller_now)
    end
    if answer then return answer end
  end
  if unsafe then return 'clock-unsafe' end

  if not text then
    text = ''
    for i = 1, #keys do
      local s = states[i]
      local _, _, _, field_c = algorithm_of(argv[7 * i - 2])
      text = text .. (i > 1 and ',' or '') .. string.format('%.0f:%.0f', s[2], s[3]) ..
             (field_c and string.format(':%.0f', s[4]) or '')
    end
  end
  if now > caller_now then now_text = string.format('%.0f', now) end
  local found = now_text .. ' ' .. text
  for i = 1, #keys do
    local s, p = states[i], 7 * i - 2
    local step = algorithm_of(argv[p])
    s[5], s[6], s[7], s[8] =
        step(s[2], s[3], s[4], cost, now, argv[p + 1] + 0, argv[p + 2] + 0, argv[p + 3] + 0, argv[p + 4] + 0)
    if not s[5] then return 'denied ' .. found end
  end
  if mode == 'peek' then return 'allowed ' .. found end

  for i = 1, #keys do
    local s = states[i]
    if s[5] ~= s[2] then s[9] = s[8] + argv[7 * i + 4] - caller_now end
    s[1], s[2], s[3], s[4] = now, s[5], s[6], s[7]
  end
  written_text, text = now_text, nil
  if field == '' then return 'allowed ' .. found end
  added = added or {}
  added[#added + 1] = field
  if is_callers then
    added[#added + 1] =
        records.add(field, tag + 0, argv[at + 1], now_text .. ' ' .. argv[4] .. string.sub(found, #now_text + 1))
    return 'allowed ' .. found
  end
  found = tag .. ' ' .. found
  added[#added + 1] = found
  return found
end

local replies = {}
for at = 7 * #keys + 5, #argv, 5 do
  replies[#replies + 1] = evaluate(at)
end
if not written_text then return replies end

local dropped = records and records.dropped() or {}
for i = 1, #keys do
  local s = states[i]
  local _, field_a, field_b, field_c = algorithm_of(argv[7 * i - 2])
  local words, n = {'HSET', keys[i], 'written', written_text, field_b, s[3]}, 6
  if field_c then words[7], words[8], n = field_c, s[4], 8 end
  if s[9] then words[n + 1], words[n + 2], n = field_a, s[2], n + 2 end
  if i == 1 and added then
    for k = 1, #added do words[n + k] = added[k] end
    if records then records.add_counts(words) end
  end
  redis.call(unpack(words))
  if s[9] then redis.call('PEXPIRE', keys[i], s[9]) end
end
for i = 1, #dropped, 1000 do
  redis.call('HDEL', keys[1], unpack(dropped, i, math.min(i + 999, #dropped)))
end
return replies
