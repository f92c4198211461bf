-- Delete KEYS[1] if it holds ARGV[1]: nobody but the owner releases.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
