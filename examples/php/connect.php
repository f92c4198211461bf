<?php

/** Connects to the Redis server at an address. */
function connect(string $address, float $timeout = 1.0): Redis
{
    [$host, $port] = explode(':', $address);
    $redis = new Redis();
    $redis->connect($host, (int) $port, $timeout, null, 0, $timeout);
    return $redis;
}

/** Asks one Sentinel after the other who is master, and connects to it. */
function connectToMaster(array $sentinels, string $name): Redis
{
    foreach ($sentinels as $sentinel) {
        try {
            $master = connect($sentinel, 0.3)->rawCommand('SENTINEL', 'get-master-addr-by-name', $name);
        } catch (RedisException) {
            continue;
        }
        if (is_array($master)) {
            return connect(implode(':', $master));
        }
    }
    throw new RedisException('no Sentinel answers');
}
