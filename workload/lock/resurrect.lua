-- The mistake: a key that is missing is taken again, as if it had been there
-- all the time.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
	return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
