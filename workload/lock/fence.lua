-- Take the lock KEYS[1] with token ARGV[1] for ARGV[2] ms and count the grant
-- in KEYS[2]. Answers the number of the grant, or 0 if it is taken.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('INCR', KEYS[2])
end
return 0
