-- If the stock KEYS[1] is still ARGV[1], take ARGV[2] units off and append
-- order ARGV[3] to KEYS[2]. Answers {1, left}, or {0, seen} if it has changed.
local seen = tonumber(redis.call('GET', KEYS[1]) or '0')
if seen ~= tonumber(ARGV[1]) then
	return {0, seen}
end
local left = redis.call('DECRBY', KEYS[1], ARGV[2])
redis.call('RPUSH', KEYS[2], ARGV[3])
return {1, left}
