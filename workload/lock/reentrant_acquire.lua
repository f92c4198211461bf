-- Enter the lock KEYS[1] as owner ARGV[1] if it is free or the owner's, with a
-- ttl of ARGV[2] ms. Answers how often the owner is in, 0 if another is.
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return count
