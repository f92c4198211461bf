-- Read the stock KEYS[1], unless KEYS[2] has seen a larger number than ARGV[1].
-- Answers {1, stock}, or {0, largest} if refused.
local largest = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[1]) < largest then
	return {0, largest}
end
redis.call('SET', KEYS[2], ARGV[1])
return {1, tonumber(redis.call('GET', KEYS[1]) or '0')}
