-- Put ARGV[2] for ARGV[3] ms in the place of ARGV[1] at KEYS[1].
if redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
	return 1
end
return 0
