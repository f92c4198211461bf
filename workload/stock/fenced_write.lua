-- Set the stock KEYS[1] to ARGV[2] and append order ARGV[3] to KEYS[2], unless
-- KEYS[3] has seen a larger number than ARGV[1].
-- Answers {1, stock}, or {0, largest} if refused.
local largest = tonumber(redis.call('GET', KEYS[3]) or '0')
if tonumber(ARGV[1]) < largest then
	return {0, largest}
end
redis.call('SET', KEYS[3], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
redis.call('RPUSH', KEYS[2], ARGV[3])
return {1, tonumber(ARGV[2])}
