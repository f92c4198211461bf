-- Delete the lock KEYS[1] if it is ARGV[1]'s, and its age: ARGV[2] in KEYS[2].
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
	return 0
end
redis.call('ZREM', KEYS[2], ARGV[2])
return redis.call('DEL', KEYS[1])
