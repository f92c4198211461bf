-- Leave the queue KEYS[1] and its times KEYS[2] as ARGV[1].
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('LREM', KEYS[1], 0, ARGV[1])
