-- What both drivers for one limit begin with: reads and checks its state. A template, see join.cmake.
local key, i, argv, number = KEYS[1], 1, ARGV, tonumber
local stored = redis.pcall('HMGET', key, 'written', @READ@)
@CHECKED_STATE@
