-- Leave the lock KEYS[1] once as owner ARGV[1]; the last time deletes it.
-- Answers how often the owner is still in, or -1 if it was not.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return -1
end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if count > 0 then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return count
end
redis.call('DEL', KEYS[1])
return 0
