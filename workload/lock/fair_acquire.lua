-- Take the lock KEYS[1] with token ARGV[1] for ARGV[2] ms if it is free and
-- nobody stands before it in the queue KEYS[2]; else stand in line. KEYS[3] has
-- until when (ms) each waiter is waited for, ARGV[3] is the time now, ARGV[4]
-- until when to wait for this one. Answers 1 if it was taken, else 0.
local head = redis.call('LINDEX', KEYS[2], 0)
while head and tonumber(redis.call('ZSCORE', KEYS[3], head) or '0') < tonumber(ARGV[3]) do
	redis.call('LPOP', KEYS[2])
	redis.call('ZREM', KEYS[3], head)
	head = redis.call('LINDEX', KEYS[2], 0)
end
if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[1]) then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	redis.call('LREM', KEYS[2], 0, ARGV[1])
	redis.call('ZREM', KEYS[3], ARGV[1])
	return 1
end
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
	redis.call('RPUSH', KEYS[2], ARGV[1])
	redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
end
return 0
