<?php

/**
 * A lease lock on Redis: SET NX EX with the owner's name, a few tries with a
 * random pause between them, and a script that deletes the key only if it is
 * still the owner's.
 */
final class RedisLock
{
    private const RELEASE = <<<'LUA'
        if redis.call('GET', KEYS[1]) == ARGV[1] then
            return redis.call('DEL', KEYS[1])
        end
        return 0
        LUA;

    private const RENEW = <<<'LUA'
        if redis.call('GET', KEYS[1]) == ARGV[1] then
            return redis.call('EXPIRE', KEYS[1], ARGV[2])
        end
        return 0
        LUA;

    /** Made once for each process: it is in every key that this process holds. */
    public readonly string $owner;

    public function __construct(
        private Closure $redis, // answers a connected Redis
        private string $prefix = 'lock:stock:',
        private int $ttl = 5, // seconds
        private int $retries = 3,
        private int $delay = 50, // milliseconds, and up to 50 more
    ) {
        $this->owner = gethostname() . ':' . getmypid() . ':' . bin2hex(random_bytes(8));
    }

    public function acquire(string $resource): bool
    {
        for ($attempt = 0; ; $attempt++) {
            if (($this->redis)()->set($this->prefix . $resource, $this->owner, ['NX', 'EX' => $this->ttl])) {
                return true;
            }
            if ($attempt === $this->retries) {
                return false;
            }
            usleep(($this->delay + random_int(0, 50)) * 1000);
        }
    }

    public function release(string $resource): bool
    {
        return ($this->redis)()->eval(self::RELEASE, [$this->prefix . $resource, $this->owner], 1) === 1;
    }

    public function renew(string $resource): bool
    {
        return ($this->redis)()->eval(self::RENEW, [$this->prefix . $resource, $this->owner, $this->ttl], 1) === 1;
    }
}
