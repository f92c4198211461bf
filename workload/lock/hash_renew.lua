-- Give the lock KEYS[1] a new ttl of ARGV[2] ms if owner ARGV[1] is in it.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
