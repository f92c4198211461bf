-- Give KEYS[1] a new ttl of ARGV[2] ms if it holds ARGV[1]: a lease that has
-- ended stays ended.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
