-- Take the lock KEYS[1] with token ARGV[1] if it is free, and note its age:
-- ARGV[3] in KEYS[2], since ARGV[2]. Answers 1 if it was taken, else 0.
if redis.call('SET', KEYS[1], ARGV[1], 'NX') then
	redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
	return 1
end
return 0
