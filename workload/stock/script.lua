-- Sell ARGV[1] units of KEYS[1] and append order ARGV[2] to KEYS[2].
-- Answers {1, left}, or {0, seen} if there are too few.
local seen = tonumber(redis.call('GET', KEYS[1]) or '0')
local qty = tonumber(ARGV[1])
if seen < qty then
	return {0, seen}
end
local left = redis.call('DECRBY', KEYS[1], qty)
redis.call('RPUSH', KEYS[2], ARGV[2])
return {1, left}
