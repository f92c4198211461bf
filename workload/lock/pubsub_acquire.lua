-- Take the lock KEYS[1] for owner ARGV[1] with a ttl of ARGV[2] ms, or enter
-- it once more. Answers 0, or the ms for which it is taken by another.
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 0
end
return math.max(1, redis.call('PTTL', KEYS[1]))
