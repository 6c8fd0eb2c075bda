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
--          for each limit: algorithm, limit, span, refill, grace, maximum clock regression,
--            keep: how long the key outlives the end of its state, ms
--          for each evaluation: now, cost, mode (evaluate, peek), try (first, repeat),
--            field of its record or '', its tag (own…) or bytes (id:…)
-- reply    one text an evaluation: "allowed <now> <states>", "denied <now> <states>", "replayed <record>",
--          "in-batch <record>", "conflict <recorded cost>", "clock-unsafe", or "ambiguous": a repeat whose record may
--          have been dropped; or one for all: "unreadable <limit>": the key holds something else
--
-- Everything is read and checked before the first write. Denials and peeks write nothing.
@ALGORITHMS@
local MAXIMUM = 9007199254740992
local HEAD, PER_LIMIT, PER_EVALUATION = 4, 7, 6

local format, match, concat, number = string.format, string.match, table.concat, tonumber
local function text_of(value) return format('%.0f', value) end
local function amount_of(text)
  local value = number(text)
  if value and value >= 0 and value < MAXIMUM and value % 1 == 0 then return value end
end

local ttl, max_entries, max_bytes = number(ARGV[1]), number(ARGV[2]), number(ARGV[3])
local first = KEYS[1]

-- The states: as numbers, written, a, b and c in this order, and as text where that is known.
local states = {}
for i = 1, #KEYS do
  local at = HEAD + (i - 1) * PER_LIMIT
  local step, fields = algorithm_of(ARGV[at + 1])
  local stored = redis.pcall('HMGET', KEYS[i], 'written', unpack(fields))
  if stored.err then
    if string.find(stored.err, 'WRONGTYPE', 1, true) then return 'unreadable ' .. i end
    return stored
  end
  local state = {
    false, false, false, false,
    step = step, fields = fields, text = false, ttl = false, dirty = false,
    limit = number(ARGV[at + 2]), span = number(ARGV[at + 3]), refill = number(ARGV[at + 4]),
    grace = number(ARGV[at + 5]), regression = number(ARGV[at + 6]), keep = number(ARGV[at + 7]),
  }
  local present = 0
  for f = 1, #fields + 1 do
    if stored[f] then present = present + 1 end
  end
  if present == 0 then
    if redis.call('EXISTS', KEYS[i]) ~= 0 then return 'unreadable ' .. i end
    state.text = string.sub('-:-:-', 1, 2 * #fields - 1)
  else
    for f = 1, #fields + 1 do
      state[f] = amount_of(stored[f])
      if not state[f] then return 'unreadable ' .. i end
    end
    if state[2] > state[1] then return 'unreadable ' .. i end
    state.text = concat(stored, ':', 2)
  end
  states[i] = state
end

local function states_text()
  if not states[2] and states[1].text then return states[1].text end
  local texts = {}
  for i = 1, #states do
    local state = states[i]
    if not state.text then
      local values = {}
      for f = 1, #state.fields do values[f] = text_of(state[f + 1]) end
      state.text = concat(values, ':')
    end
    texts[i] = state.text
  end
  return concat(texts, ',')
end

-- What this call will add to the records, by field; read through, so that evaluations see those before them.
local added, names = {}, {}
local function record_in(field)
  return added[field] or redis.call('HGET', first, field)
end
local function add(field, record)
  if not added[field] then names[#names + 1] = field end
  added[field] = record
end

-- The ring of caller's ids keeps the newest max_entries records within max_bytes: which those are follows from
-- a record's number and the bytes before it, so nothing has to be removed at once.
local records, record_bytes, records_stored, bytes_stored
local function open_ring()
  if records then return end
  local ring = redis.call('HMGET', first, 'records', 'record_bytes')
  records, record_bytes = amount_of(ring[1]) or 0, amount_of(ring[2]) or 0
  records_stored, bytes_stored = records, record_bytes
end
local function parse(record)
  local serial, before, cost, at = match(record, '^(%d+) (%d+) (%d+) (%d+) ')
  if serial then return number(serial), number(before), cost, number(at) end
end
local function in_ring(serial, before)
  return serial == records or (records - serial < max_entries and record_bytes - before <= max_bytes)
end

-- Whether the ring may have dropped a record made at `since` or later: it has dropped some, and holds none
-- that is older.
local function may_have_dropped(since)
  if records <= max_entries and record_bytes <= max_bytes then return false end
  local all = redis.call('HGETALL', first)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 3) == 'id:' then
      local serial, before, _, at = parse(all[i + 1])
      if serial and in_ring(serial, before) and at < since then return false end
    end
  end
  return true
end

-- The answer that is already known for an evaluation, if any.
local function answered(field, tag, cost, is_repeat, caller_now, now)
  if string.sub(field, 1, 3) == 'own' then
    -- Only this Sluice knows the id, so only a repeat can be in its place.
    if not is_repeat then return end
    local stored = redis.call('HMGET', first, field, 'batch0', 'batch1', 'batch2', 'batch3')
    local newest = -1
    if stored[1] then
      local found, at = match(stored[1], '^(%S+) (%d+) ')
      if found == tag then return 'replayed ' .. stored[1] end
      newest = number(at) or MAXIMUM
    end
    for i = 2, 5 do
      if stored[i] then
        if string.find(stored[i], tag .. ':', 1, true) then return 'in-batch ' .. stored[i] end
        newest = math.max(newest, number(match(stored[i], '^%d+')) or MAXIMUM)
      end
    end
    -- Records of a key never grow older: had there been one of this evaluation, it would be as new as the first
    -- try, and so would be whatever replaced it.
    if newest >= caller_now then return 'ambiguous' end
    return
  end
  open_ring()
  local record = record_in(field)
  local serial, before, recorded_cost, at
  if record then serial, before, recorded_cost, at = parse(record) end
  if serial and now < at + ttl and (is_repeat or in_ring(serial, before)) then
    if recorded_cost == cost then return 'replayed ' .. record end
    return 'conflict ' .. recorded_cost
  end
  if is_repeat and (serial and at >= caller_now or may_have_dropped(caller_now)) then return 'ambiguous' end
end

local function evaluate(at)
  local now_text, cost_text, mode, field = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 4]
  local caller_now, cost, is_repeat = number(now_text), number(cost_text), ARGV[at + 3] == 'repeat'
  local now, unsafe = caller_now, false
  for i = 1, #states do
    local written = states[i][1]
    if written then
      if written - caller_now > states[i].regression then unsafe = true end
      if written > now then now = written end
    end
  end
  -- A repeat comes late, with the `now` of its first try: others may have moved the states' time on.
  if unsafe and not is_repeat then return 'clock-unsafe' end
  if ttl > 0 and field ~= '' then
    local answer = answered(field, ARGV[at + 5], cost_text, is_repeat, caller_now, now)
    if answer then return answer end
  end
  if unsafe then return 'clock-unsafe' end

  if now > caller_now then now_text = text_of(now) end
  local found = now_text .. ' ' .. states_text()
  local next_states = {}
  for i = 1, #states do
    local s = states[i]
    local a, b, c, ends = s.step(s[2], s[3], s[4], cost, now, s.limit, s.span, s.refill, s.grace)
    if not a then return 'denied ' .. found end
    next_states[i] = {a, b, c, ends}
  end
  if mode == 'peek' then return 'allowed ' .. found end

  for i = 1, #states do
    local s, n = states[i], next_states[i]
    if n[1] ~= s[2] then s.ttl = n[4] + s.keep - caller_now end
    s[1], s[2], s[3], s[4], s.text, s.dirty = now, n[1], n[2], n[3], false, true
  end
  if ttl > 0 and field ~= '' then
    local tag = ARGV[at + 5]
    if string.sub(field, 1, 3) == 'own' then
      add(field, tag .. ' ' .. found)
    else
      records = records + 1
      add(field, text_of(records) .. ' ' .. text_of(record_bytes) .. ' ' .. cost_text .. ' ' .. now_text .. ' ' ..
                 ARGV[4] .. ' ' .. string.sub(found, #now_text + 2))
      record_bytes = record_bytes + number(tag)
    end
  end
  return 'allowed ' .. found
end

local replies = {}
for at = HEAD + #KEYS * PER_LIMIT + 1, #ARGV, PER_EVALUATION do
  replies[#replies + 1] = evaluate(at)
end

-- Records that the ring has dropped are removed whenever as many or as much as it holds was added, so at most
-- twice its bounds are ever there.
local gone = {}
if records and (math.floor(records / max_entries) ~= math.floor(records_stored / max_entries) or
                math.floor(record_bytes / max_bytes) ~= math.floor(bytes_stored / max_bytes)) then
  local all = redis.call('HGETALL', first)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 3) == 'id:' and not added[all[i]] then
      local serial, before = parse(all[i + 1])
      if not serial or not in_ring(serial, before) then gone[#gone + 1] = all[i] end
    end
  end
end

for i = 1, #states do
  local s = states[i]
  if s.dirty then
    local words = {'HSET', KEYS[i], 'written', s[1], s.fields[1], s[2], s.fields[2], s[3]}
    local n = 8
    if s.fields[3] then
      words[n + 1], words[n + 2] = s.fields[3], s[4]
      n = n + 2
    end
    if i == 1 then
      if records and records ~= records_stored then
        words[n + 1], words[n + 2], words[n + 3], words[n + 4] = 'records', records, 'record_bytes', record_bytes
        n = n + 4
      end
      for r = 1, #names do
        words[n + 1], words[n + 2] = names[r], added[names[r]]
        n = n + 2
      end
    end
    redis.call(unpack(words))
    if s.ttl then redis.call('PEXPIRE', KEYS[i], s.ttl) end
  end
end
for i = 1, #gone, 1000 do
  redis.call('HDEL', first, unpack(gone, i, math.min(i + 999, #gone)))
end
return replies
